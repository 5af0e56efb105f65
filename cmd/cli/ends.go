package cli

import (
	"context"
	"crypto/tls"
	"log/slog"
	"strings"
	"time"

	"gridbroker/credential"
)

// endsEvery is how often a daemon looks when its certificate, and those that it believes by, end.
const endsEvery = 10 * time.Minute

// ends is what a daemon is with that ends.
type ends struct {
	own   []func() *tls.Certificate     // that it shows who connects
	trust func() *credential.Trust      // nil, or where it gives none: it believes by none
	shown func() (credential.End, bool) // what it shows others as a client; nil: nothing
	among func() *credential.Bundle     // by whom managers believe each other; nil: it is none
}

// agentEnds is that of an agent: the host certificate that it shows its scheduler, and by whom it believes that.
func agentEnds(d *deps, f agentRunOptions) (e ends) {
	if !strings.Contains(f.scheduler, "https://") && !strings.Contains(f.scheduler, "grid://") {
		return e
	}
	e.trust = credential.Authorities(credentialEnv(d), credential.Options{}, func(error) {}) // who connects says it
	e.shown = func() (credential.End, bool) {
		set, err := credentialSet(d)
		if err != nil || set.X509 == nil || set.X509.IsProxy() { // whose end is not far at any time
			return credential.End{}, false
		}
		return credential.End{Kind: credential.HostEnds, Name: set.X509.Identity(), At: set.X509.NotAfter()}, true
	}
	return e
}

// managerEnds is that of a manager: its certificate, and the authorities of the tree.
func managerEnds(d *deps, f managerTLS, own func() *tls.Certificate) (ends, error) {
	among, err := credential.BundleFile(credentialEnv(d), abs(d, f.ca), readNamed, func(error) {}) // who connects says it
	return ends{own: []func() *tls.Certificate{own}, among: among}, err
}

// desk adds what users at a manager's desk are shown, where that is another certificate, and by whom they are believed.
func (e *ends) desk(own func() *tls.Certificate, trust func() *credential.Trust) {
	if own != nil {
		e.own = append(e.own, own)
	}
	e.trust = trust
}

// serves adds the certificate of a server.
func (e *ends) serves(secured *tls.Config) {
	if secured == nil || secured.GetCertificate == nil {
		return
	}
	e.own = append(e.own, func() *tls.Certificate {
		own, _ := secured.GetCertificate(nil) // as for whoever connects
		return own
	})
}

// list are those there are now.
func (e ends) list() (list []credential.End) {
	for _, shown := range e.own {
		if shown == nil { // as it serves without TLS
			continue
		}
		if own := shown(); own != nil && own.Leaf != nil {
			list = append(list, credential.EndOf(own))
		}
	}
	if e.shown != nil {
		if end, is := e.shown(); is {
			list = append(list, end)
		}
	}
	if e.among != nil {
		list = append(list, e.among().Ends()...)
	}
	if e.trust != nil {
		if t := e.trust(); t != nil {
			list = append(list, credential.Ends(t)...)
		}
	}
	return list
}

// tell notes how long it is until the first of each kind ends, and warns once a day of those that do soon.
func (e ends) tell(now time.Time, log *slog.Logger, told map[string]time.Time, note func(kind string, left time.Duration)) {
	first := map[credential.EndKind]time.Time{}
	for _, end := range e.list() {
		if at, is := first[end.Kind]; !is || end.At.Before(at) {
			first[end.Kind] = end.At
		}
		key := string(end.Kind) + end.Name
		if at, is := told[key]; end.Soon(now) && (!is || now.Sub(at) >= 24*time.Hour) {
			told[key] = now
			log.Warn("renew what ends", "what", string(end.Kind), "of", end.Name, "ends", end.At.UTC().Format(time.RFC3339))
		}
	}
	for kind, at := range first {
		note(string(kind), at.Sub(now))
	}
}

// watch tells as long as the daemon runs.
func (e ends) watch(ctx context.Context, now func() time.Time, log *slog.Logger, note func(kind string, left time.Duration)) error {
	for told := map[string]time.Time{}; ; {
		e.tell(now(), log, told, note)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(endsEvery):
		}
	}
}
