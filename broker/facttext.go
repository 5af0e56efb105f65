package broker

import (
	"fmt"
	"strings"
	"time"
)

// MarshalText writes a fact as its text.
func (f Fact) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// phrases are the texts of facts that have no fields.
var phrases = [...]string{
	NotTriedYet:     "a resource where the job was not tried yet",
	HealthyEndpoint: "a healthy endpoint",
	TakingInterface: "an interface that takes jobs",
	NoDowntime:      "no downtime while the job runs",
	WithoutVO:       "access without a VO",
	NumericRank:     "a number",
	WorkingResource: "a resource that works",
	WellResource:    "a resource that is well",
	AnotherView:     "another entry for that VO",
	NoEndpoint:      "no endpoint for jobs",
	EndedTooSoon:    "its last jobs ended well in less than a tenth of the usual time",
	Mute:            "it did not answer",
	PinnedDown:      "pinned down",
	NoCatalogue:     "no catalogue for logical names: name the URL of a replica",
	FetchesNone:     "fetches none from there",
	SendsNone:       "sends none there",
}

// String is the fact for people, without "want" or "have".
func (f Fact) String() string {
	switch f.Kind {
	case Name, ExpressionHolding:
		return f.Name
	case OneOf:
		return strings.Join(f.Names, " or ")
	case HolderOf:
		return strings.Join(short(f.Names), " or ")
	case Listed:
		return strings.Join(short(f.Names), ", ")
	case Quantity, AtLeast, Count, FewerJobs, YoungerThan, AgeOf, OtherTags, FirstJobsFailed:
		return f.counted()
	case DownFrom, BannedUntil:
		return f.dated()
	case ValueOf:
		return f.Verdict.String()
	case PublishedValues:
		parts := make([]string, len(f.Values))
		for i, p := range f.Values {
			parts[i] = p.Name + " " + p.text()
		}
		return strings.Join(parts, ", ")
	case Evaluation:
		return "an error: " + f.Said
	case Unrankable:
		return f.Said
	case Alarmed:
		return f.Name + ": " + f.Said
	}
	if form, ok := forms[f.Kind]; ok {
		return fmt.Sprintf(form, f.Name)
	}
	return phrases[f.Kind]
}

// forms are the texts of facts about one name.
var forms = map[FactKind]string{
	SubmitTo: "SubmitTo %s", ServingState: "serving state %s", InQueue: "queue %s", MemberOf: "VO:%s",
	NotPublished: "%s not published", NonePublished: "no %s published", EndpointHealth: "endpoint health %s", EndpointServing: "endpoint %s",
	ShownOnly: "%s, shown only", FilesFrom: "input files from %s:", FilesTo: "output files to %s:",
}

// counted is the text of facts about an amount.
func (f Fact) counted() string {
	n := f.Unit.of(f.Amount)
	switch f.Kind {
	case AtLeast:
		return "at least " + n
	case FewerJobs:
		return "fewer than " + n + " " + f.Name + " jobs"
	case YoungerThan:
		return "a record younger than " + n
	case AgeOf:
		return n + " old"
	case OtherTags:
		return n + " other tags"
	case FirstJobsFailed:
		return n + " of the first jobs failed there"
	}
	return n
}

// dated is the text of facts about a time.
func (f Fact) dated() string {
	s := "banned until " + f.Until.UTC().Format("15:04:05Z")
	if f.Kind == DownFrom {
		s = "down from " + f.From.UTC().Format("2006-01-02 15:04Z")
		if !f.Until.IsZero() { // its end is announced
			s += " to " + f.Until.UTC().Format("2006-01-02 15:04Z")
		}
	}
	if f.Said != "" {
		s += ": " + f.Said
	}
	return s
}

// of writes an amount with its unit.
func (u Unit) of(n float64) string {
	if u == Seconds {
		return duration(time.Duration(n * float64(time.Second)))
	}
	if n == 1 && u >= Slots {
		return [...]string{Slots: "1 slot", SlotsOnNode: "1 slot on one node", GPUs: "1 GPU"}[u]
	}
	return fmt.Sprintf("%.0f%s", n, [...]string{Megabytes: " MB", Slots: " slots", SlotsOnNode: " slots on one node", GPUs: " GPUs"}[u])
}

// text is the value of an attribute, short enough for a line of a table.
func (p Published) text() string {
	if !p.OK {
		return "not published"
	}
	return shortValue(p.Value)
}

// short keeps a list fit for a line.
func short(list []string) []string {
	if len(list) > 4 {
		return append(list[:4:4], "...")
	}
	return list
}

// duration writes a length of time without empty parts: 1h30m, 36h, 90s.
func duration(d time.Duration) string {
	d = d.Round(time.Second)
	s := ""
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}} {
		if n := d / u.unit; n != 0 {
			s += fmt.Sprintf("%d%s", n, u.name)
			d -= n * u.unit
		}
	}
	if s == "" {
		return "0s"
	}
	return s
}
