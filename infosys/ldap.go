package infosys

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"gridbroker/asked"
	"gridbroker/credential"
	"gridbroker/foreign"
	"gridbroker/glue"

	"github.com/go-ldap/ldap/v3"
)

// Limits on what an LDAP server may send. What is of use is bounded by what is kept
// of it, not by its length: an entry that is taken in gives back its message and what
// it is long, as far as entries have to be.
const (
	maxLDAPMessage  = 4 << 20
	maxLDAPMessages = 1 << 20   // of no use, through one connection
	maxLDAPTotal    = 192 << 20 // of bytes, too
	usefulEntry     = 1 << 10   // bytes
	maxLDAPNames    = 1 << 12   // different attributes of one entry
	maxLDAPValues   = 1 << 17   // of one entry
	maxLDAPTrees    = 100       // that a server says it has
	maxLDAPCookie   = 4 << 10   // which is sent back for the next page
	maxLDAPWords    = 1 << 10   // of what a server says of a failure
	emptyPages      = 16        // that are borne with a word that there are more
	pageSize        = 1000
)

const startTLSScheme = "ldap+starttls"

// LDAP is a Source that asks a BDII or an ARC computing element. With a base
// DN it searches there, for the schemas that live below it; without one it
// asks the server which trees it has.
type LDAP struct {
	URL   string   // the name shown
	Addr  string   // host:port
	Base  string   // "" : what the server offers
	VO    string   // only what names this VO, where a filter can tell; "": all
	Extra []string // attributes to keep besides those of glue's table
	Now   func() time.Time
	// Secure is set for ldaps, and for ldap with StartTLS: the connection then
	// begins in the clear and is secured before anything is asked. It makes a
	// new dialer.
	Secure   func() (*credential.Dialer, error)
	StartTLS bool
	guest
}

// newLDAP takes apart ldap://host[:port][/base]; ldaps:// is LDAP through TLS,
// ldap+starttls:// LDAP that is secured by StartTLS (RFC 4511 section 4.14).
func newLDAP(u *url.URL) (*LDAP, error) {
	if u.Hostname() == "" || u.User != nil || u.RawQuery != "" {
		return nil, fmt.Errorf("%s: want %s://host:port/base", u.Redacted(), u.Scheme)
	}
	port := u.Port()
	if port == "" {
		port = "389"
		if u.Scheme == "ldaps" {
			port = "636"
		}
	}
	base := strings.Trim(u.Path, "/ ")
	if base != "" {
		if _, err := ldap.ParseDN(base); err != nil {
			return nil, fmt.Errorf("%s: base %q: %w", u, base, err)
		}
	}
	return &LDAP{URL: u.String(), Addr: net.JoinHostPort(u.Hostname(), port), Base: base, StartTLS: u.Scheme == startTLSScheme}, nil
}

// Name implements Source.
func (l *LDAP) Name() string { return l.URL }

// CacheKey implements Keyed: answers about one VO are no answers about others.
func (l *LDAP) CacheKey() string {
	return l.URL + " vo=" + l.VO + " extra=" + strings.Join(l.Extra, ",")
}

// maxCut is the most text in an answer that a server cut after which it is asked
// again: those with a limit say less, and another 60 MB of one that does not are
// not to be had twice.
const maxCut = 16 << 20

// Resources implements Source. A server that cuts its answers is asked again,
// in pages, and in smaller ones if it says that these are too large. What came
// of the fullest answer is returned with the error about the rest.
func (l *LDAP) Resources(ctx context.Context) ([]glue.Resource, error) {
	var fullest []glue.Resource
	var err error
	for _, page := range []uint32{0, pageSize, pageSize / 10} {
		rs, kept, failed := l.ask(ctx, page)
		if failed == nil {
			return rs, nil
		}
		if page == 0 || len(rs) > len(fullest) {
			fullest, err = rs, failed
		}
		e, ok := errors.AsType[*LDAPError](failed)
		if !ok || !e.cut() || kept > maxCut || page > 0 && e.Code != ldap.LDAPResultAdminLimitExceeded {
			break
		}
	}
	return fullest, fmt.Errorf("%s: %w", l.Addr, contextError(ctx, err))
}

// contextError prefers the context's word on why a connection ended, and takes
// the address off an error of dialling: the caller names it.
func contextError(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return timeoutError("no full answer in time")
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return op.Err
	}
	return err
}

// ask reads every tree, all at once. kept is how many bytes of text the answer holds.
func (l *LDAP) ask(ctx context.Context, page uint32) (rs []glue.Resource, kept int, err error) {
	trees, err := l.bases(ctx)
	if err != nil {
		return nil, 0, err
	}
	answers := make([]*glue.Decoder, len(trees))
	errs := make([]error, len(trees))
	var missing atomic.Int32
	var wg sync.WaitGroup
	for i := range trees {
		answers[i] = glue.NewDecoder(l.URL, l.Extra...)
		answers[i].Charge(l.account)
	}
	glue.ShareBounds(answers)
	for i, b := range trees {
		wg.Go(func() {
			var there bool
			there, errs[i] = l.read(ctx, b, page, answers[i])
			if !there {
				missing.Add(1)
			}
		})
	}
	wg.Wait()
	for _, d := range answers {
		kept += d.Kept()
	}
	err = gravest(errs)
	if int(missing.Load()) == len(trees) && err == nil {
		err = fmt.Errorf("there is no tree of GLUE's: neither %s nor %s", trees[0].dn, trees[len(trees)-1].dn)
	}
	rs = glue.Join(l.now(), answers...)
	if clear(answers); len(rs) > manyResources {
		runtime.GC()
	}
	return rs, kept, err
}

// manyResources are so many that what they were made of, which is as much again, is
// cleared away before anything is done with them: else it would stay until there is
// twice as much of everything.
const manyResources = 30_000

// perTree is how many connections a tree is read through at once: a server
// writes to one of them what several searches find one after the other.
const perTree = 2

// read asks every query for a tree and feeds a decoder with what comes, in
// whatever order; there is false when the server has no such tree.
func (l *LDAP) read(ctx context.Context, b base, page uint32, d *glue.Decoder) (there bool, err error) {
	queries := l.queries(b.dn)
	var mu sync.Mutex // of d
	add := func(q *glue.Query, e *glue.Entry) (used bool, err error) {
		mu.Lock()
		defer mu.Unlock()
		used = d.Found(q, e)
		return used, d.Err()
	}
	errs := make([]error, perTree)
	var missing atomic.Int32
	var wg sync.WaitGroup
	for c := range perTree {
		wg.Go(func() {
			var own []glue.Query
			for i := c; i < len(queries); i += perTree {
				own = append(own, queries[i])
			}
			var n int
			n, errs[c] = l.search(ctx, b, own, page, add)
			missing.Add(int32(n))
		})
	}
	wg.Wait()
	return int(missing.Load()) < len(queries), gravest(errs)
}

// gravest is the first error that another question may mend, else the first.
func gravest(errs []error) error {
	for _, err := range errs {
		if _, most := errors.AsType[glue.LimitError](err); err != nil && !most {
			return err
		}
	}
	return cmp.Or(errs...)
}

// search sends queries at once through one connection; with paging one after
// the other, because servers keep one paged search per connection. missing is
// how many of them found no tree.
func (l *LDAP) search(ctx context.Context, b base, queries []glue.Query, page uint32, each eachEntry) (missing int, err error) {
	began := time.Now()
	defer func() {
		for _, q := range queries {
			asked.Tell(ctx, "search %s for %s below %q: %s (%v)", l.Addr, q.Filter, b.dn, outcome(err), time.Since(began).Round(time.Millisecond))
		}
	}()
	s, end, err := l.connect(ctx, page)
	if err != nil {
		return 0, err
	}
	defer end()
	for _, q := range queries {
		if err := s.send(b.dn, ldap.ScopeWholeSubtree, q, b.optional); err != nil {
			return 0, err
		}
		if page > 0 {
			if err := s.receive(each, &missing); err != nil {
				return missing, err
			}
		}
	}
	err = s.receive(each, &missing)
	return missing, cmp.Or(err, s.failed)
}

// outcome tells what came of questions.
func outcome(err error) string {
	if err != nil {
		return err.Error()
	}
	return "answered"
}

// connect opens a session that ends with the context, or by end.
func (l *LDAP) connect(ctx context.Context, page uint32) (s *ldapSession, end func(), err error) {
	conn, err := l.dial(ctx)
	if err != nil {
		return nil, nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	s = newLDAPSession(conn, page)
	if l.account != nil {
		s.stream.buf, s.stream.account = make([]byte, guestBuffer), l.account
	}
	return s, func() { stop(); conn.Close() }, nil
}

func (l *LDAP) dial(ctx context.Context) (net.Conn, error) {
	if l.Secure == nil {
		return l.dialer().DialContext(ctx, "tcp", l.Addr)
	}
	d, err := l.Secure()
	if err != nil {
		return nil, err
	}
	d.Control = l.control()
	if l.StartTLS {
		d.Before = startTLS
	}
	return d.DialTLS(ctx, "tcp", l.Addr)
}

// startTLS asks for TLS on the port of plain LDAP.
func startTLS(ctx context.Context, conn net.Conn) error {
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	return newLDAPSession(conn, 0).startTLS()
}

// base is one tree to search.
type base struct {
	dn       string
	optional bool // that it is missing is no error
}

// bases lists the trees to search. Of a top BDII's, o=shadow is what o=grid
// is rewritten from at a cost per entry, so it is taken instead.
func (l *LDAP) bases(ctx context.Context) ([]base, error) {
	if l.Base != "" {
		return []base{{dn: l.Base}}, nil
	}
	s, end, err := l.connect(ctx, 0)
	if err != nil {
		return nil, err
	}
	defer end()
	contexts, err := s.namingContexts()
	if err != nil {
		return nil, err
	}
	var out []base
	has := func(dn string) bool {
		return slices.ContainsFunc(contexts, func(c string) bool { return strings.EqualFold(strings.ReplaceAll(c, " ", ""), dn) })
	}
	switch {
	case has("o=shadow"):
		out = append(out, base{dn: "o=grid,o=shadow", optional: true})
	case has("o=grid"):
		out = append(out, base{dn: "o=grid", optional: true})
	}
	if has("o=glue") {
		out = append(out, base{dn: "o=glue", optional: true})
	}
	if out == nil && len(contexts) > 0 {
		offers := strings.Join(contexts, "; ")
		return nil, fmt.Errorf("no tree of GLUE's: the server offers %s", offers[:min(len(offers), maxLDAPWords)])
	}
	if out == nil { // the server does not say: try
		out = []base{{dn: "o=grid", optional: true}, {dn: "o=glue", optional: true}}
	}
	return out, nil
}

// queries are those for the schemas that live below a base.
func (l *LDAP) queries(dn string) []glue.Query {
	if low := strings.ToLower(dn); strings.HasSuffix(low, "o=glue") {
		return glue.Queries20(l.Extra)
	}
	return slices.Concat(glue.Queries13(l.VO, l.Extra), glue.QueriesARC(l.Extra))
}

func (l *LDAP) now() time.Time {
	if l.Now == nil {
		return time.Now()
	}
	return l.Now()
}

// LDAPError is a result other than success, in the server's words.
type LDAPError struct {
	What    string // the class searched for
	Code    int64  // RFC 4511 resultCode
	Message string // diagnosticMessage; may be empty
}

// Error implements error.
func (e *LDAPError) Error() string {
	name := "result"
	if e.Code >= 0 && e.Code < 1<<16 {
		name = ldap.LDAPResultCodeMap[uint16(e.Code)]
	}
	text := fmt.Sprintf("%s: %s (LDAP result %d)", e.What, name, e.Code)
	if e.Message != "" {
		text += ": " + foreign.Text(e.Message)
	}
	return text
}

// cut reports whether the server gave a part only.
func (e *LDAPError) cut() bool {
	return e.Code == ldap.LDAPResultSizeLimitExceeded || e.Code == ldap.LDAPResultAdminLimitExceeded
}
