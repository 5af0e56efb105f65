package htcondor

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"gridbroker/credential"
	"gridbroker/plugins"
	"gridbroker/plugins/remote"
)

// ticket is how commands get in at a schedd over the network: a SciToken, or a
// token of the WLCG profile, whose audience is the schedd's, and the
// authorities by which they know its host. IDTOKENS need neither; HTCondor's
// tools find them. It is safe for concurrent use.
type ticket struct {
	set     func() (*credential.Set, error)
	environ []string // of the caller: what it says of authorities stands
	pool    string   // host:port
	foreign bool     // named by a BDII: only hosts that the grid's authorities signed get a token

	now func() time.Time

	mu   sync.Mutex
	kept *credential.Set // as found at that time, with the tokens that were got for it
	at   time.Time
	lack error // why there was no token for the last command
}

// keptFor is how long the credentials found are good for: a sweep is several
// commands, and a token is minted for all of them.
const keptFor = 30 * time.Second

// found are the user's credentials.
func (t *ticket) found() (*credential.Set, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if age := t.now().Sub(t.at); t.kept != nil && age >= 0 && age < keptFor {
		return t.kept, nil
	}
	set, err := t.set()
	if err != nil {
		return nil, err
	}
	t.kept, t.at = set, t.now()
	return set, nil
}

// scopes are those of the WLCG token profile 1.3 that the commands need.
var scopes = []string{"compute.read", "compute.create", "compute.cancel", "compute.modify"}

// env is what a command sees: the token that fits, renewed where it can be, or
// none at all. A token for another audience is not shown to anybody.
func (t *ticket) env(ctx context.Context) []string {
	set, err := t.found()
	if err != nil {
		t.note(err)
		return noToken
	}
	var env []string
	if dir := set.Trust.Dir(); dir != "" && !slices.ContainsFunc(t.environ, namesCAs) {
		env = append(env, "_condor_AUTH_SSL_CLIENT_CADIR="+dir)
		if u := (&url.URL{Host: t.pool}); t.foreign && (set.Public == nil || !set.Public(u.Hostname())) {
			env = append(env, "_condor_AUTH_SSL_CLIENT_USE_DEFAULT_CAS=false")
		}
	}
	token, err := set.TokenOrAny(ctx, "condor://"+t.pool, scopes...)
	if t.note(err); err != nil {
		return append(env, noToken...)
	}
	return append(env, "BEARER_TOKEN="+token.Raw())
}

// noToken keeps HTCondor's tools from taking a token that they find.
var noToken = []string{"BEARER_TOKEN=", "BEARER_TOKEN_FILE=/dev/null"}

// namesCAs reports whether a variable tells HTCondor's tools which authorities
// sign hosts. HTCondor takes these names in any case.
func namesCAs(kv string) bool {
	name, _, _ := strings.Cut(strings.ToUpper(kv), "=")
	return name == "_CONDOR_AUTH_SSL_CLIENT_CADIR" || name == "_CONDOR_AUTH_SSL_CLIENT_CAFILE"
}

func (t *ticket) note(lack error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lack = lack
}

// Command runs a command of HTCondor, see remote.Site.Command. Where a schedd
// over the network does not let us in, or seems not to be there, which is how
// HTCondor's tools tell the same, the error says what was wrong with our token.
func (s *site) Command(ctx context.Context, argv ...string) (string, error) {
	text, err := s.Site.Command(ctx, argv...)
	return text, s.ticket.explained(err)
}

// records is remote.Records with the errors of Command.
func records(ctx context.Context, s *site, take func(object []byte) error, argv ...string) error {
	return s.ticket.explained(remote.Records(ctx, s.Site, take, argv...))
}

func (t *ticket) explained(err error) error {
	e, ok := errors.AsType[*plugins.Error](err)
	if !ok || t == nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lack != nil && e.Hint == "" {
		e.Hint = "if it wants a token: " + t.lack.Error()
	}
	if strings.Contains(e.Said, "DENIED") || strings.Contains(e.Said, "AUTHENTICATE") {
		e.Kind = plugins.Credential
	}
	return err
}
