package htcondor

import (
	"bytes"
	"context"
	"encoding/json"
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

	shown []string // the last tokens that a command was given, which what it says is searched for
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
	t.show(token.Raw())
	return append(env, "BEARER_TOKEN="+token.Raw())
}

// maxShown is how many tokens are remembered: a command that is under way was given one of the last.
const maxShown = 4

func (t *ticket) show(token string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !slices.Contains(t.shown, token) {
		t.shown = append(t.shown[max(0, len(t.shown)+1-maxShown):], token)
	}
}

// redact takes our tokens out of what the other side has said.
func (t *ticket) redact(said string) string {
	if t == nil {
		return said
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, token := range t.shown {
		said = strings.ReplaceAll(said, token, "[our token]")
	}
	return said
}

// redactAd does so in an object of JSON, however its letters are written.
func (t *ticket) redactAd(object []byte) []byte {
	if t == nil {
		return object
	}
	if bytes.Contains(object, []byte(`\u00`)) || bytes.Contains(object, []byte(`\/`)) {
		var v any
		dec := json.NewDecoder(bytes.NewReader(object))
		dec.UseNumber()
		if dec.Decode(&v) == nil {
			if plain, err := json.Marshal(v); err == nil {
				object = plain
			}
		}
	}
	return []byte(t.redact(string(object)))
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
	return s.ticket.redact(text), s.ticket.explained(err)
}

// records is remote.Records with the errors of Command.
func records(ctx context.Context, s *site, take func(object []byte) error, argv ...string) error {
	redacted := func(object []byte) error { return take(s.ticket.redactAd(object)) }
	return s.ticket.explained(remote.Records(ctx, s.Site, redacted, argv...))
}

func (t *ticket) explained(err error) error {
	e, ok := errors.AsType[*plugins.Error](err)
	if !ok || t == nil {
		return err
	}
	e.Said = t.redact(e.Said)
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
