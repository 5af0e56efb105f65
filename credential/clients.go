package credential

import (
	"sync"
	"time"
)

// Clients keeps who speaks to endpoints with the credentials that are there now: C is made anew where what it shows has
// changed, and goes on, with its connections, where it has not. Who follows jobs for days shows the token and the proxy
// that are there by then.
type Clients[C any] struct {
	Find func() (*Set, error) // looks what there is
	Now  func() time.Time
	Drop func(C) // ends the connections of one that nobody is given any more; what is on its way goes on

	mu    sync.Mutex
	set   *Set
	found time.Time
	of    map[string]*speaker[C]
}

// speaker is a client, what it shows, and when that was last compared with what is there.
type speaker[C any] struct {
	client C
	shows  string
	seen   time.Time
}

// setAge is how long what was found is good for.
const setAge = 30 * time.Second

// recent tells whether something was just now, by a clock that may be set.
func recent(now, at time.Time) bool { return !now.Before(at) && now.Sub(at) < setAge }

// Set is what is there, of some seconds ago at most. As long as it holds the same it stays, with the tokens that it has got
// for endpoints.
func (c *Clients[C]) Set() (*Set, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.Now()
	if c.set != nil && recent(now, c.found) {
		return c.set, nil
	}
	set, err := c.Find()
	if err != nil {
		return nil, err
	}
	if c.set == nil || c.set.holds() != set.holds() {
		c.set = set
	}
	c.found = now
	return c.set, nil
}

// holds is what tells sets apart.
func (s *Set) holds() (h struct {
	leaf, token   string
	trust, minter bool
}) {
	h.leaf, h.trust, h.minter = LeafOf(s.X509), s.Trust != nil, s.Minter != nil
	if s.Token != nil {
		h.token = s.Token.Raw()
	}
	return h
}

// LeafOf is the certificate that is shown first, in DER, which tells credentials apart; "" of none.
func LeafOf(x *X509) string {
	if x == nil {
		return ""
	}
	return string(x.Chain()[0].Raw)
}

// Recent is the client of a name, if what it shows was compared with what is there some seconds ago at most.
func (c *Clients[C]) Recent(name string) (client C, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.of[name]
	if s == nil || !recent(c.Now(), s.seen) {
		return client, false
	}
	return s.client, true
}

// For is the client of a name that shows something: the one that there is, or what begin makes in its place. had is the one
// before it, nil: none. An error is begin's.
func (c *Clients[C]) For(name, shows string, begin func(had *C) (C, error)) (client C, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, now := c.of[name], c.Now()
	if s != nil && s.shows == shows {
		s.seen = now
		return s.client, nil
	}
	var had *C
	if s != nil {
		had = &s.client
	}
	if client, err = begin(had); err != nil {
		return client, err
	}
	if s != nil {
		c.Drop(s.client)
	}
	if c.of == nil {
		c.of = map[string]*speaker[C]{}
	}
	c.of[name] = &speaker[C]{client, shows, now}
	return client, nil
}

// Close drops all. Whoever goes on looks anew what there is.
func (c *Clients[C]) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.of {
		c.Drop(s.client)
	}
	c.of, c.set = nil, nil
	return nil
}
