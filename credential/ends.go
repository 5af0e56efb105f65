package credential

import (
	"crypto/tls"
	"slices"
	"time"
)

// EndKind is a kind of thing that ends, and that an operator renews.
type EndKind string

// What ends.
const (
	HostEnds      EndKind = "host certificate"
	AuthorityEnds EndKind = "authority"
	CRLEnds       EndKind = "revocation list"
)

// End is when something ends without which a service lets nobody in, or is believed by nobody.
type End struct {
	Kind EndKind
	Name string
	At   time.Time
}

// Soon tells whether it is time to do something about it: authorities and hosts get certificates in a week or two,
// revocation lists are fetched several times a day.
func (e End) Soon(now time.Time) bool {
	notice := 14 * 24 * time.Hour
	switch e.Kind {
	case AuthorityEnds:
		notice = 30 * 24 * time.Hour
	case CRLEnds:
		notice = 24 * time.Hour
	}
	return e.At.Before(now.Add(notice))
}

// String says it.
func (e End) String() string {
	return string(e.Kind) + " " + e.Name + " ends at " + e.At.UTC().Format(time.RFC3339)
}

// EndOf is that of a daemon's certificate.
func EndOf(own *tls.Certificate) End { return End{HostEnds, subjectDN(own.Leaf), own.Leaf.NotAfter} }

// Ends are those of the directory's authorities and of their newest revocation lists, the first to end at the head.
// A list that cannot be read has no end: a connection says what is wrong with it.
func Ends(t *Trust) []End {
	var list []End
	for _, ca := range t.cas {
		list = append(list, End{AuthorityEnds, subjectDN(ca.cert), ca.cert.NotAfter})
		crls, err := ca.lists()
		if err != nil || len(crls) == 0 {
			continue
		}
		if newest := latest(crls); !newest.nextUpdate.IsZero() {
			list = append(list, End{CRLEnds, newest.file, newest.nextUpdate})
		}
	}
	slices.SortFunc(list, func(a, b End) int { return a.At.Compare(b.At) })
	return list
}
