package broker

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"gridbroker/jdl/classad"
)

// Fact is one side of a Reason: what a job wants, or what a resource has
// instead. Its kind says which of the other fields are set. Programs look at
// these; its text, for tables and JSON, is made by String alone.
type Fact struct {
	Kind    FactKind
	Unit    Unit        // of Amount
	Verdict Verdict     // of a clause
	Amount  float64     // in Unit
	Name    string      // of a resource, queue, tag, interface, state, attribute, VO
	Names   []string    // of several
	Said    string      // the words of a service, a site or an evaluation
	Values  []Published // what a clause looks at
	From    time.Time
	Until   time.Time
}

// Published is an attribute of a resource that a clause names.
type Published struct {
	Name  string
	Value classad.Value
	OK    bool // it is published
}

// FactKind enumerates facts.
type FactKind uint8

// What jobs want, by the fields that are set besides.
const (
	Unspoken          FactKind = iota
	SubmitTo                   // Name: the CE id of the job's SubmitTo
	OneOf                      // Names: sites or interfaces
	NotTriedYet                // a resource where the job was not tried
	ServingState               // Name: not published, and to be this
	HealthyEndpoint            //
	TakingInterface            // one that takes jobs
	FewerJobs                  // Amount, Name: fewer than so many jobs of this kind
	NoDowntime                 // while the job runs
	YoungerThan                // Amount: the age of a record
	InQueue                    // Name
	MemberOf                   // Name: a VO
	HolderOf                   // Names: FQANs
	WithoutVO                  // access for those of no VO
	NumericRank                // a rank that is a number
	WellResource               // one of which no alarm is raised
	WorkingResource            // one that works
	FilesFrom                  // Name: a scheme of URLs that input files are to come from
	FilesTo                    // Name: a scheme of URLs that output files are to go to
	ExpressionHolding          // Name: a clause of Requirements, as it is written
)

// What resources have, and what both sides may be.
const (
	Name            FactKind = iota + 32 // Name: as it is published, or asked for
	Quantity                             // Amount
	AtLeast                              // Amount
	Count                                // Amount: of jobs
	NotPublished                         // Name: the attribute
	NonePublished                        // Name: of which none is published, so there are none
	Listed                               // Names: rules or interfaces
	AnotherView                          // an entry for the VO's members
	EndpointHealth                       // Name
	EndpointServing                      // Name
	ShownOnly                            // Name: an interface without a way to send jobs
	NoEndpoint                           // for jobs
	DownFrom                             // From, Until, Said
	AgeOf                                // Amount
	OtherTags                            // Amount: how many, none like the one that is wanted
	ValueOf                              // Verdict
	PublishedValues                      // Values
	Evaluation                           // Said: why it failed
	Unrankable                           // Said: why
	BannedUntil                          // Until, Said
	Alarmed                              // Name: by this service; Said
	PinnedDown                           // by the user
	EndedTooSoon                         // its last jobs, in less than a tenth of the usual time
	FirstJobsFailed                      // Amount: how many
	Mute                                 // it did not answer
	NoCatalogue                          // it understands no logical names
	FetchesNone                          // no files from such URLs
	SendsNone                            // no files to such URLs
)

// Unit is of an amount.
type Unit uint8

// The units.
const (
	Plain Unit = iota
	Megabytes
	Seconds
	Slots
	SlotsOnNode
	GPUs
)

// Compare orders facts, equal ones beside each other.
func (f Fact) Compare(o Fact) int {
	return cmp.Or(cmp.Compare(f.Kind, o.Kind), strings.Compare(f.Name, o.Name), cmp.Compare(f.Amount, o.Amount), cmp.Compare(f.Unit, o.Unit),
		slices.Compare(f.Names, o.Names), cmp.Compare(f.Verdict, o.Verdict), strings.Compare(f.Said, o.Said), f.From.Compare(o.From), f.Until.Compare(o.Until),
		slices.CompareFunc(f.Values, o.Values, Published.compare))
}

func (p Published) compare(o Published) int {
	return cmp.Or(strings.Compare(p.Name, o.Name), strings.Compare(p.text(), o.text()))
}

func named(name string) Fact { return Fact{Kind: Name, Name: name} }

func amount(n float64, unit Unit) Fact { return Fact{Kind: Quantity, Amount: n, Unit: unit} }

func period(kind FactKind, d time.Duration) Fact {
	return Fact{Kind: kind, Amount: d.Seconds(), Unit: Seconds}
}
