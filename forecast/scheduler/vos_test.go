package scheduler

import (
	"context"
	"crypto"
	"crypto/x509"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gridbroker/credential"
	"gridbroker/credential/voms"
	"gridbroker/jdl"
	"gridbroker/plugins"
	"gridbroker/testdata/testbed"
)

// office is a scheduler with simulated sites that people come to over TLS, with proxies of VOs.
type office struct {
	*front
	w      *world
	alice  *credential.X509
	server testbed.Identity

	mu   sync.Mutex
	went []string // what was done at sites, and as a member of which VO
}

// clerk is a site that notes with whose credential things are done.
type clerk struct {
	*simSite
	o  *office
	vo string
}

func (c clerk) note(verb, request string) {
	c.o.mu.Lock()
	defer c.o.mu.Unlock()
	c.o.went = append(c.o.went, verb+" "+jobOf(request)+" as "+c.vo)
}

func (c clerk) Submit(ctx context.Context, reqs []plugins.Request, p plugins.Progress) []plugins.Result {
	for _, q := range reqs {
		c.note("submit", q.ID)
	}
	return c.simSite.Submit(ctx, reqs, p)
}

func (c clerk) Status(ctx context.Context, hs []plugins.Handle) []plugins.Status {
	for _, h := range hs {
		c.note("ask", h.ID)
	}
	return c.simSite.Status(ctx, hs)
}

func (c clerk) Cancel(ctx context.Context, hs []plugins.Handle) []error {
	for _, h := range hs {
		c.note("cancel", h.ID)
	}
	return c.simSite.Cancel(ctx, hs)
}

func newOffice(t *testing.T, dsn string, vos ...string) *office {
	o := &office{w: newWorld(t, dsn, 3, 0, 6)}
	o.front = newFrontOn(t, dsn, func(_ *Config, a *API) { a.Door.VOMSDir = t.TempDir() })
	o.alice, o.server = o.user(o.ca, "Alice"), o.ca.Issue("voms.example", nil)
	for _, vo := range vos {
		testbed.WriteFile(t, filepath.Join(o.api.Door.VOMSDir, vo, "voms.example.lsc"), []byte("/DC=org/CN=voms.example\n/DC=org/CN=Test CA\n"), 0o644)
	}
	o.w.from, o.w.now = o.now, o.now
	o.restart()
	return o
}

// restart is a new leader, who answers people too.
func (o *office) restart() {
	o.w.restart()
	o.w.s.open = o.open
	o.store, o.s, o.api.S = o.w.store, o.w.s, o.w.s
}

func (o *office) open(_ context.Context, owner string, cred []byte) (*plugins.Registry, func(), error) {
	vo := "nobody"
	if len(cred) > 0 {
		x, err := credential.ParseX509(owner, cred)
		if err != nil || x.Identity() != owner {
			o.t.Errorf("the credential of %s: %v", owner, err)
			return nil, nil, err
		}
		vo = strings.Join(credential.NamedVOs(x), "+")
	}
	var list []plugins.Opened
	for _, name := range o.w.names {
		list = append(list, plugins.Opened{Backend: plugins.Backend{Interfaces: []string{"sim/" + name}}, Submitter: clerk{o.w.sites[name], o, vo}})
	}
	reg, err := plugins.NewRegistry(list...)
	return reg, func() {}, err
}

// proxyOf is alice's, with the attributes of some VOs.
func (o *office) proxyOf(life time.Duration, vos ...string) *credential.X509 {
	o.t.Helper()
	opts := credential.ProxyOptions{Lifetime: life}
	for _, vo := range vos {
		ac := testbed.AC{Holder: o.alice.Chain()[0], Issuer: o.server.Cert, Key: o.server.Key, VO: vo, Host: "voms.example:15000", FQANs: []string{"/" + vo},
			From: time.Now().Add(-time.Hour), To: time.Now().Add(life), Chain: []*x509.Certificate{o.server.Cert}}
		opts.ACs = append(opts.ACs, &voms.AC{Raw: ac.DER(o.t)})
	}
	return o.proxy(o.alice, opts)
}

// hands has alice hand in a job with a proxy, as grid submit does.
func (o *office) hands(x *credential.X509, key, text string) plugins.Handle {
	o.t.Helper()
	job, err := jdl.ParseJob("job.jdl", []byte(`Executable = "/bin/true"; Requirements = true; `+text))
	if err != nil {
		o.t.Fatal(err)
	}
	res := o.backend(x).Submit(o.t.Context(), []plugins.Request{{ID: key, Job: job, Endpoint: o.endpoint()}}, nil)
	if res[0].Err != nil {
		o.t.Fatal(res[0].Err)
	}
	return res[0].Handle
}

// steps is some time of the world.
func (o *office) steps(n int) {
	for range n {
		o.w.step(10)
	}
	o.now = o.w.now
}

// as are the VOs as whose member something was done for a job.
func (o *office) as(verb string, h plugins.Handle) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var list []string
	for _, line := range o.went {
		if vo, is := strings.CutPrefix(line, verb+" "+h.ID+" as "); is && !slices.Contains(list, vo) {
			list = append(list, vo)
		}
	}
	return list
}

func (o *office) want(verb string, h plugins.Handle, vos ...string) {
	o.t.Helper()
	if got := o.as(verb, h); !slices.Equal(got, vos) {
		o.t.Errorf("%s: done as a member of %q, want %q", verb, got, vos)
	}
}

func onBoth(t *testing.T, f func(t *testing.T, dsn string)) {
	t.Run("SQLite", func(t *testing.T) { f(t, sqliteDSN(t)) })
	t.Run("PostgreSQL", func(t *testing.T) { f(t, postgresDSN(t)) })
}

// The jobs of somebody who works for two VOs are sent, followed and ended with what he has delegated as a member
// of their own, whatever he has delegated since, whether or not the scheduler knows these VOs.
func TestUserOfTwoVOs(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) { twoVOs(t, newOffice(t, dsn, "a", "b", "c")) })
	t.Run("unknown VOs", func(t *testing.T) { twoVOs(t, newOffice(t, sqliteDSN(t))) })
}

func twoVOs(t *testing.T, o *office) {
	o.steps(3)
	a := o.hands(o.proxyOf(9*time.Hour, "a"), "a", "WallTime = 1200;")
	o.steps(6)
	none := o.hands(o.proxyOf(9*time.Hour), "none", "WallTime = 1200;")
	both := o.hands(o.proxyOf(9*time.Hour, "c", "a"), "both", "WallTime = 1200;")
	b := o.hands(o.proxyOf(10*time.Hour, "b"), "b", "WallTime = 1200;")
	o.steps(20)
	o.hands(o.proxyOf(8*time.Hour, "b"), "later", "WallTime = 60;")
	o.restart()
	o.steps(3)
	if err := o.backend(o.proxyOf(time.Hour, "b")).Cancel(t.Context(), []plugins.Handle{a}); err[0] != nil {
		t.Fatal(err[0])
	}
	o.steps(100)
	for _, verb := range []string{"submit", "ask"} {
		o.want(verb, none, "")
		o.want(verb, both, "c+a")
		o.want(verb, b, "b")
	}
	o.want("submit", a, "a")
	o.want("ask", a, "a", "c+a") // what was delegated since is of that VO, too
	o.want("cancel", a, "c+a")
	for _, h := range []plugins.Handle{b, none, both} {
		if j := o.w.job(h.ID); j.State != Done {
			t.Errorf("%s is %s: %s", j.Key, j.State, j.Blocked)
		}
	}
}

// What runs out is said of the jobs of its VO, and holds those alone; what is renewed is those too, and who renews
// is told of which jobs he has renewed nothing.
func TestRenewedByVO(t *testing.T) { onBoth(t, renewedByVO) }

func renewedByVO(t *testing.T, dsn string) {
	o := newOffice(t, dsn, "a", "b")
	o.steps(3)
	a := o.hands(o.proxyOf(10*time.Minute, "a"), "a", "WallTime = 1200;")
	b := o.hands(o.proxyOf(5*time.Hour, "b"), "b", "WallTime = 1200;")
	o.steps(6)
	if n, said := o.w.said(a.ID, "credential"); n != 1 || !strings.Contains(said, "renew it before") {
		t.Errorf("told %d times: %s", n, said)
	}
	if n, said := o.w.said(b.ID, "credential"); n != 0 {
		t.Errorf("told of a job whose credential outlives it: %s", said)
	}
	o.steps(60)
	late := o.direct("a", "WallTime = 60;")
	o.steps(6)
	if j := o.w.job(late.ID); j.State != Waiting || !j.Held || !strings.Contains(j.Blocked, "run out") {
		t.Errorf("without a credential of its VO a job is %s: %s", j.State, j.Blocked)
	}
	if errs := o.backend(o.proxyOf(6*time.Hour, "b")).Renew(t.Context(), []plugins.Handle{a, b, late}); errs[1] != nil ||
		errs[0] == nil || !strings.Contains(errs[0].Error(), "member of VO a, and your proxy is of b") || errs[2] == nil {
		t.Errorf("renewed as a member of b: %v", errs)
	}
	o.steps(6)
	if j := o.w.job(late.ID); j.State != Waiting || !j.Held {
		t.Errorf("renewed as a member of b, a job of a is %s: %s", j.State, j.Blocked)
	}
	if errs := o.backend(o.proxyOf(6*time.Hour, "a")).Renew(t.Context(), []plugins.Handle{a, late}); errs[0] != nil || errs[1] != nil {
		t.Fatal(errs)
	}
	o.steps(150)
	for _, h := range []plugins.Handle{a, b, late} {
		if j := o.w.job(h.ID); j.State != Done {
			t.Errorf("%s is %s: %s", j.Key, j.State, j.Blocked)
		}
	}
	o.want("submit", a, "a")
	o.want("submit", late, "a")
}

// old is the program of the version before, which keeps one credential of a user.
func (o *office) old(life time.Duration, vos ...string) {
	o.t.Helper()
	x := o.proxyOf(life, vos...)
	text := append(testbed.PEM(x.Chain()...), testbed.KeyPEM(o.t, x.Certificate().PrivateKey.(crypto.Signer))...)
	err := o.store.tx(o.t.Context(), func(h handle) error {
		return h.write(o.t.Context(), `insert into credential (owner, expires, body, attributes) values ($1, $2, $3, $4)
			on conflict (owner) do update set expires = excluded.expires, body = excluded.body, attributes = excluded.attributes`,
			x.Identity(), x.NotAfter().Unix(), o.store.seal.Close("credential/"+x.Identity(), text), unix(credential.AttributesEnd(x)))
	})
	if err != nil {
		o.t.Fatal(err)
	}
}

// A program of the version before keeps one credential of a user. What it kept before the upgrade is found, and what it keeps
// of a replica that is not upgraded yet, each for the jobs of its own VO; and it finds what was delegated last here.
func TestDelegatedToTheVersionBefore(t *testing.T) { onBoth(t, delegatedBefore) }

func delegatedBefore(t *testing.T, dsn string) {
	o := newOffice(t, dsn, "a", "b")
	o.steps(3)
	o.old(5*time.Hour, "a")
	a := o.direct("a", "WallTime = 600;")
	b := o.hands(o.proxyOf(6*time.Hour, "b"), "b", "WallTime = 600;")
	if x := o.lastOf(); x.VO() != "b" {
		t.Errorf("the version before finds a credential of VO %s", x.VO())
	}
	o.steps(6)
	o.want("submit", a, "a")
	o.want("submit", b, "b")
	o.old(7*time.Hour, "a")
	o.steps(1)
	all, err := o.w.authorities()
	if until := time.Unix(all.own[holder{o.alice.Identity(), "a"}].until, 0); err != nil || until.Before(time.Now().Add(6*time.Hour)) {
		t.Errorf("what another replica was given since is good until %v, %v", until, err)
	}
	o.restart()
	c := o.direct("c", "WallTime = 600;")
	o.steps(80)
	o.want("ask", a, "a")
	o.want("ask", b, "b")
	if j := o.w.job(c.ID); j.State != Waiting || !j.Held || !strings.Contains(j.Blocked, "of other VOs") {
		t.Errorf("with credentials of other VOs a job is %s: %s", j.State, j.Blocked)
	}
	o.old(7*time.Hour, "c")
	o.restart() // before the leader has seen it
	o.steps(20)
	o.want("submit", c, "c")
}

// direct hands in a job as a member of a VO that is called like it, without delegating anything.
func (o *office) direct(vo, text string) plugins.Handle {
	o.t.Helper()
	who := Person{Subject: o.alice.Identity(), VO: vo, FQANs: []string{"/" + vo}}
	got, err := o.s.Submit(o.t.Context(), who, []Submission{{Key: "direct-" + vo, JDL: `[ Executable = "/bin/true"; Requirements = true; ` + text + ` ]`}})
	if err != nil || got[0].Error != "" {
		o.t.Fatal(got, err)
	}
	return plugins.Handle{Endpoint: o.endpoint().URL, ID: got[0].ID}
}

// lastOf is what a program of the version before finds of alice.
func (o *office) lastOf() *credential.X509 {
	o.t.Helper()
	var body []byte
	err := o.store.db.QueryRow("select body from credential").Scan(&body)
	if err == nil {
		body, err = o.store.seal.Open("credential/"+o.alice.Identity(), body)
	}
	x, bad := credential.ParseX509("the last one", body)
	if err != nil || bad != nil {
		o.t.Fatal(err, bad)
	}
	return x
}

// What is kept of one user's delegations is bounded, and bound to user and VO.
func TestDelegationsOfOneUser(t *testing.T) {
	w := newWorld(t, sqliteDSN(t), 3, 0, 1)
	for i := range maxVOs + 5 {
		if err := w.store.KeepCredential(t.Context(), "alice", []byte(fmt.Sprint("proxy ", i)), w.now.Add(time.Duration(1+i)*time.Hour), time.Time{}, fmt.Sprint("vo", i)); err != nil {
			t.Fatal(err)
		}
	}
	all, err := w.authorities()
	if n := len(all.own); err != nil || n != maxVOs || all.own[holder{"alice", "vo0"}].until != 0 {
		t.Errorf("%d are kept, %v", n, err)
	}
	if body, err := credentialOf(t, w.store, holder{"alice", "vo20"}, w.now); err != nil || string(body) != "proxy 20" {
		t.Errorf("%q, %v", body, err)
	}
	if _, err := w.store.db.Exec("update delegation set body = (select body from delegation where vo = 'vo21') where vo = 'vo20'"); err != nil {
		t.Fatal(err)
	}
	if body, err := credentialOf(t, w.store, holder{"alice", "vo20"}, w.now); err == nil {
		t.Errorf("what is kept of one VO opens as another's: %q", body)
	}
}

// A job that was handed in with a token of one VO is not begun by its owner's token of another, which is good for longer.
func TestTokensOfTwoVOs(t *testing.T) { onBoth(t, tokensOfTwoVOs) }

func tokensOfTwoVOs(t *testing.T, dsn string) {
	iss, o := testbed.ServeIssuer(t), newOffice(t, dsn)
	o.api.Door.Issuers, o.api.Door.Audience = []string{iss.URL}, "grid"
	token := func(life time.Duration, vo string) string {
		text, err := iss.Token("carol", life, map[string]any{"aud": "grid", "wlcg.groups": []string{"/" + vo}})
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	hand := func(life time.Duration, vo string) string {
		return o.submit(token(life, vo), vo, `[ Executable = "/bin/true"; WallTime = 60; Requirements = true; VirtualOrganisation = "`+vo+`"; ]`).ID
	}
	o.steps(70) // by the scheduler's clock the first one has run out
	a, b := hand(10*time.Minute, "a"), hand(5*time.Hour, "b")
	o.steps(30)
	if j := o.w.job(a); j.State != Waiting || !j.Held || !strings.Contains(j.Blocked, "groups") {
		t.Errorf("a job of the VO whose token has run out is %s: %s", j.State, j.Blocked)
	}
	if j := o.w.job(b); j.State != Done {
		t.Errorf("a job of the other VO is %s: %s", j.State, j.Blocked)
	}
	if code := o.ask(o.client(nil), token(5*time.Hour, "a"), "GET", "/v1/jobs", nil, nil); code != 200 {
		t.Fatal(code)
	}
	o.steps(30)
	if j := o.w.job(a); j.State != Done {
		t.Errorf("with a newer token of its VO it is %s: %s", j.State, j.Blocked)
	}
}
