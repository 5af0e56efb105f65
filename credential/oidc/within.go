package oidc

import (
	"context"
	"net/http"
)

// within makes requests those of a context, too: the library's that begins the
// device flow has none of its own (golang.org/x/oauth2 v0.37), and would go on after
// Ctrl-C for as long as the client has patience.
type within struct {
	ctx   context.Context // until the login is over
	under http.RoundTripper
}

// RoundTrip implements http.RoundTripper. The context of a request is given up with
// the login's, when its answer has long been read.
func (w within) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, stop := context.WithCancel(valued{r.Context(), w.ctx})
	context.AfterFunc(w.ctx, stop)
	return w.under.RoundTrip(r.WithContext(ctx))
}

// valued is a context with the values of another one besides: who wants to know
// what is asked is among them.
type valued struct {
	context.Context
	more context.Context
}

// Value implements context.Context.
func (v valued) Value(key any) any {
	if own := v.Context.Value(key); own != nil {
		return own
	}
	return v.more.Value(key)
}
