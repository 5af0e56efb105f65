package scheduler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/coreos/go-oidc/v3/oidc"
)

// The keys of an issuer are had once and believed; so that one which it has taken back is not believed for good, they are
// asked for anew after keysTime, and where it does not answer, every keysPause, until they count no more after keysLast.
const (
	keysTime  = time.Hour
	keysPause = 5 * time.Minute
	keysLast  = 24 * time.Hour
)

// issuer is one that tokens are verified with.
type issuer struct {
	log  *slog.Logger
	once sync.Mutex // held while it is asked

	mu         sync.Mutex // of what is below
	provider   *oidc.Provider
	had, asked time.Time // when it answered last, and when it was asked
	err        error
}

// believed is what an issuer has said of itself, and its keys. Where that is old, one asks it anew, and the others do not
// wait for him.
func (i *issuer) believed(ctx context.Context, name string, client func() *http.Client) (p *oidc.Provider, fresh bool, err error) {
	p, due, err := i.state(time.Now())
	switch {
	case !due:
		return p, false, err
	case p == nil:
		i.once.Lock()
	case !i.once.TryLock():
		return p, false, nil
	}
	defer i.once.Unlock()
	if p, due, err = i.state(time.Now()); !due { // somebody has asked meanwhile
		return p, false, err
	}
	next, err := providerOf(ctx, client(), name)
	if err == nil && p != nil {
		err = givesKeys(ctx, client(), next)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.asked, i.err = time.Now(), err
	if err == nil {
		i.provider, i.had = next, i.asked
		return next, true, nil
	}
	if p != nil { // for the time being
		i.log.Warn("an issuer cannot be asked: the keys that it had are believed for the time being", "issuer", name, "until", i.had.Add(keysLast).UTC().Format(time.RFC3339), "error", err)
		return p, true, nil
	}
	return nil, true, err
}

// state is what is known of an issuer at a time, nil: nothing that counts any more, and whether it is to be asked.
func (i *issuer) state(now time.Time) (p *oidc.Provider, due bool, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.provider == nil || now.Sub(i.had) >= keysLast {
		return nil, i.err == nil || now.Sub(i.asked) >= issuerPause, i.err
	}
	return i.provider, now.Sub(i.had) >= keysTime && now.Sub(i.asked) >= keysPause, nil
}

// givesKeys asks an issuer for its keys before it takes the place of what was known of it.
func givesKeys(ctx context.Context, client *http.Client, p *oidc.Provider) error {
	var doc discovery
	if err := p.Claims(&doc); err != nil {
		return err
	}
	return hasKeys(ctx, client, doc.Keys)
}

// maxSubject is how long the name of somebody is at most, in bytes (OpenID Connect Core 1.0, section 2).
const maxSubject = 255

// subjectOf is of whom a token is: its issuer, and how that calls him.
func subjectOf(id *oidc.IDToken) (string, error) {
	switch sub := id.Subject; {
	case strings.TrimSpace(sub) == "":
		return "", fmt.Errorf("a token of %s names nobody (sub)", id.Issuer)
	case len(sub) > maxSubject || !utf8.ValidString(sub) || strings.ContainsFunc(sub, unicode.IsControl):
		return "", errors.New("a token of " + id.Issuer + " has a sub that is no name: of more than 255 bytes, or with control characters")
	}
	return id.Issuer + "#" + id.Subject, nil
}
