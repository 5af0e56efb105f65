// Package asked lets what asks others say what it asks of whom: discovery,
// back-ends, services and logins tell it by the context of their work, and the
// command shows it to who types -vv. Where nobody wants to know nothing is made
// up.
package asked

import (
	"context"
	"fmt"
	"net/url"
	"strings"
)

type listener struct{}

// Telling is a context in which tell is told of every request, in one line
// each. It is called from several goroutines at once.
func Telling(ctx context.Context, tell func(what string)) context.Context {
	return context.WithValue(ctx, listener{}, tell)
}

// Wanted tells whether anybody listens: what costs something to say is said to him alone.
func Wanted(ctx context.Context) bool { return ctx.Value(listener{}) != nil }

// Tell says what was asked of whom and what came of it, to whoever listens.
// Nothing of it may be a secret; what others have said need not be harmless.
func Tell(ctx context.Context, format string, args ...any) {
	if tell, ok := ctx.Value(listener{}).(func(string)); ok {
		tell(fmt.Sprintf(format, args...))
	}
}

// URL is a URL as it may be shown: of its query the names alone, as the values
// may be secrets, but for the action of the ARC REST interface (1.0, section
// "Jobs management").
func URL(u *url.URL) string {
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	var query []string
	for pair := range strings.SplitSeq(u.RawQuery, "&") {
		name, _, _ := strings.Cut(pair, "=")
		switch {
		case name == "":
		case name == "action":
			query = append(query, pair)
		case !strings.Contains(pair, "="):
			query = append(query, "...")
		default:
			query = append(query, name+"=...")
		}
	}
	text := shown.String()
	if len(query) > 0 {
		text += "?" + strings.Join(query, "&")
	}
	return text
}
