package credential

import (
	"crypto/x509"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Check looks the directory of authorities over: files that cannot be used,
// expired authorities, policies that cannot be read, revocation lists that are
// missing, too old, or not the authority's, names under which OpenSSL would
// not find a CA. The user's own CA, if known, is looked at as well.
func (t *Trust) Check(x *X509) []Finding {
	if t.dir == "" || len(t.cas) == 0 {
		return append(t.checkEmpty(), t.bad...)
	}
	fs := slices.Clone(t.bad)
	var stale, without, expired []string
	for _, ca := range t.sorted() {
		name := filepath.Base(ca.bases[0])
		if t.now().After(ca.cert.NotAfter) {
			expired = append(expired, name)
			continue
		}
		lists, err := ca.lists()
		switch {
		case err != nil:
			fs = append(fs, *asFinding(err))
		case len(lists) == 0:
			without = append(without, name)
		case latest(lists).expired(t.now()):
			stale = append(stale, name)
		}
		fs = append(fs, ca.checkFiles()...)
	}
	fs = append(fs, summary("trust.ca-expired", Warning, "authorities have expired", expired, "update the CA distribution")...)
	fs = append(fs, summary("trust.crl-expired", Warning, "revocation lists have expired: nothing by these authorities is believed", stale, "fetch-crl")...)
	fs = append(fs, summary("trust.crl-absent", Note, "authorities have no revocation list: revoked certificates go unnoticed", without, "fetch-crl")...)
	if x != nil {
		fs = append(fs, t.checkOwn(x)...)
	}
	if Worst(fs) == OK || Worst(fs) == Note {
		fs = append([]Finding{{ID: "trust.ok", Severity: OK, Subject: t.dir, What: fmt.Sprintf("%d authorities can be used", len(t.cas))}}, fs...)
	}
	return fs
}

// checkFiles looks at the files beside the authority's certificate.
func (a *authority) checkFiles() []Finding {
	var fs []Finding
	if _, _, err := a.policy(); err != nil {
		fs = append(fs, *asFinding(err))
	}
	if _, _, err := a.namespaces(); err != nil {
		fs = append(fs, *asFinding(err))
	}
	if f := checkHash(a); f != nil {
		fs = append(fs, *f)
	}
	return fs
}

// Dated returns the newest date that files of the directory bear, and the
// file: the clock must be past it. Zero when there is none.
func (t *Trust) Dated() (at time.Time, file string) {
	for _, ca := range t.sorted() {
		lists, err := ca.lists()
		if err != nil {
			continue
		}
		for _, l := range lists {
			if l.thisUpdate.After(at) {
				at, file = l.thisUpdate, l.file
			}
		}
	}
	return at, file
}

func (t *Trust) checkEmpty() []Finding {
	if t.dir == "" {
		return []Finding{{ID: "trust.ok", Severity: OK, What: "the system's authorities are trusted"}}
	}
	sev := Problem
	if t.System() {
		sev = Note
	}
	return []Finding{{ID: "trust.absent", Severity: sev, Subject: t.dir, What: "there are no CA certificates of the grid", Why: "most CEs have certificates of IGTF authorities",
		Mend: "install the IGTF CA certificates (package igtf-policy-bundle or ca-policy-egi-core), or set X509_CERT_DIR"}}
}

// sorted lists the authorities by file name.
func (t *Trust) sorted() []*authority {
	all := make([]*authority, 0, len(t.cas))
	for _, ca := range t.cas {
		all = append(all, ca)
	}
	slices.SortFunc(all, func(a, b *authority) int { return strings.Compare(a.bases[0], b.bases[0]) })
	return all
}

// summary makes at most one finding about several authorities.
func summary(id string, sev Severity, what string, names []string, mend string) []Finding {
	if len(names) == 0 {
		return nil
	}
	list := names
	if len(list) > 5 {
		list = append(slices.Clone(list[:5]), "...")
	}
	return []Finding{{ID: id, Severity: sev, What: fmt.Sprintf("%d %s", len(names), what), Why: strings.Join(list, ", "), Mend: mend}}
}

// checkHash compares the names of hashed files with the hash of the CA's name.
func checkHash(ca *authority) *Finding {
	for _, base := range ca.bases {
		name := filepath.Base(base)
		if len(name) != 8 || strings.Trim(name, "0123456789abcdef") != "" {
			continue
		}
		if want, old := NameHash(ca.cert.RawSubject), oldNameHash(ca.cert.RawSubject); name != want && name != old {
			return &Finding{ID: "trust.hash", Severity: Warning, Subject: base + ".0", What: "other software does not find this authority",
				Why: "OpenSSL looks for " + want + ".0", Mend: "c_rehash " + quote(filepath.Dir(base))}
		}
	}
	return nil
}

// checkOwn looks at the files of the authority that issued the user's certificate.
func (t *Trust) checkOwn(x *X509) []Finding {
	own := x.entity()
	for _, ca := range t.cas {
		if string(ca.cert.RawSubject) != string(own.RawIssuer) || !signedBy(own, ca.cert) {
			continue
		}
		if _, file, err := ca.policy(); file == "" && err == nil {
			return []Finding{{ID: "trust.policy-absent", Severity: Note, Subject: ca.bases[0] + ".signing_policy",
				What: "your CA has no signing policy here", Why: "Globus and gfal refuse a CA without one", Mend: "install the CA's files again"}}
		}
		return nil
	}
	return nil
}

// LifeLeft is how long a chain still lives: until the first of its
// certificates expires.
func LifeLeft(chain []*x509.Certificate, now time.Time) time.Duration {
	left := time.Duration(1<<63 - 1)
	for _, c := range chain {
		left = min(left, c.NotAfter.Sub(now))
	}
	return left
}

// Outlives warns when a credential ends before a job that begins now and runs
// for wall could end; nil when it lives long enough or nothing is known. Wait
// is the time in the queue to be expected, 0 when not known. It is a pure
// function for those who submit.
func (s *Set) Outlives(now time.Time, wait, wall time.Duration) *Finding {
	var end time.Time
	subject, mend := "", ""
	switch {
	case s.X509 != nil && now.Before(s.X509.NotAfter()):
		end, subject, mend = s.X509.NotAfter(), s.X509.Path(), "grid auth proxy --valid "+hours(wait+wall+time.Hour)+", or keep grid auth watch running"
		if of := AttributesEnd(s.X509); !of.IsZero() && of.Before(end) && wall > 0 && of.Sub(now) < wait+wall {
			return attributesEnd(s.X509, now, wall)
		}
	case s.Token != nil && s.Minter == nil:
		end, subject, mend = s.Token.Expiry(), s.Token.Source(), "grid auth login, and keep grid auth watch running"
	}
	if end.IsZero() || wall <= 0 || end.Sub(now) >= wait+wall {
		return nil
	}
	return &Finding{ID: "life.too-short", Severity: Warning, Subject: subject, What: "the credential may end before the job",
		Why: fmt.Sprintf("it lives for another %s; the job asks for %s of wall time", Span(end.Sub(now)), Span(wall)), Mend: mend}
}

// attributesEnd warns of VOMS attributes that end before the proxy, and before the job.
func attributesEnd(x *X509, now time.Time, wall time.Duration) *Finding {
	f := &Finding{ID: "life.too-short", Severity: Warning, Subject: x.path, What: "the VOMS attributes may end before the job",
		Why:  fmt.Sprintf("they hold for another %s, and the proxy lives longer; the job asks for %s of wall time", Span(AttributesEnd(x).Sub(now)), Span(wall)),
		Mend: "grid auth proxy --voms " + x.VO() + ", and keep grid auth watch running"}
	if !AttributesEnd(x).After(now) {
		f.What, f.Why = "the VOMS attributes have run out", "sites take you for a member of no VO, if they let you in, though the proxy still lives"
	}
	return f
}

func hours(d time.Duration) string { return fmt.Sprintf("%dh", int(d.Hours())+1) }
