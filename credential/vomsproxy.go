package credential

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"gridbroker/credential/voms"
)

// FetchACs asks the VOMS servers of each VO for attributes and checks what
// they give. Each of wants is "VO", or "VO:/vo/group/Role=role", or several
// FQANs after the colon with commas between them. It returns the attribute
// certificates and the servers' remarks. The error is a *Finding.
func FetchACs(ctx context.Context, env Env, opts Options, x *X509, t *Trust, wants []string, lifetime time.Duration) ([]*voms.AC, []string, error) {
	servers, errs := voms.ReadVomses(env.VOMSES()...)
	var acs []*voms.AC
	var remarks []string
	for _, want := range wants {
		vo, list, _ := strings.Cut(want, ":")
		req := voms.Request{Lifetime: lifetime}
		if list != "" {
			req.FQANs = strings.Split(list, ",")
		}
		some := voms.ServersOf(servers, vo)
		if len(some) == 0 {
			return nil, nil, noVomses(env, vo, errs)
		}
		answer, err := vomsClient(x, t).Fetch(ctx, some, req)
		if err != nil {
			return nil, nil, vomsRefusal(vo, err)
		}
		v := voms.Verifier{Dir: env.VOMSDir(opts), Now: t.now().Add(time.Second), Chain: t.VerifyChain}
		if err := v.Verify(answer.AC, x.entity()); err != nil {
			return nil, nil, vomsFinding(answer.Server.String(), err)
		}
		if answer.AC.VO != answer.Server.VO { // for which the same server may speak, too
			return nil, nil, problem("voms.another-vo", answer.Server.String(), fmt.Sprintf("the server gave attributes of %.80q", answer.AC.VO),
				"it was asked for those of "+answer.Server.VO, "ask the administrators of "+vo+"; a line of the vomses file may name the VO wrongly")
		}
		acs, remarks = append(acs, answer.AC), append(remarks, answer.Warnings...)
	}
	return acs, remarks, nil
}

// vomsClient connects as the user. Whoever wrote a server into vomses has named
// its host, so a public authority may speak for it; what it signs is held
// against the VO's .lsc file all the same.
func vomsClient(x *X509, t *Trust) *voms.Client {
	d := &Dialer{Trust: t, Cert: x, Public: func(string) bool { return true }}
	return &voms.Client{Dial: func(ctx context.Context, network, addr string) (voms.Conn, error) {
		c, err := d.Dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return c, nil
	}}
}

// KnockVOMS looks whether a VOMS server answers and is the one that vomses
// names; x may be nil. The result is a problem or nil.
func KnockVOMS(ctx context.Context, x *X509, t *Trust, s voms.Server, timeout time.Duration) *Finding {
	c := vomsClient(x, t)
	c.Timeout = timeout
	err := c.Knock(ctx, s)
	if err == nil {
		return nil
	}
	f := vomsRefusal(s.VO, err)
	if f.ID == "voms.unavailable" {
		f = &Finding{ID: "voms.unreachable", Severity: Warning, Subject: s.String(), What: "the VOMS server of " + s.VO + " does not answer", cause: err,
			Why: err.Error(), Mend: fmt.Sprintf("if it has moved, correct %s:%d", s.File, s.Line)}
	}
	if f.Refused() && x == nil { // it wants a certificate, as it should
		return nil
	}
	return f
}

func noVomses(env Env, vo string, errs []error) *Finding {
	why := "looked in " + strings.Join(env.VOMSES(), ", ")
	if len(errs) > 0 {
		why += "; " + errors.Join(errs...).Error()
	}
	return problem("voms.no-server", vo, "no VOMS server is known for this VO", why,
		`add the line your VO gives you ("VO" "host" "port" "DN" "VO") to ~/.voms/vomses`)
}

// vomsRefusal makes one finding of the failures of all servers of a VO.
func vomsRefusal(vo string, err error) *Finding {
	f := problem("voms.unavailable", vo, "no VOMS server gave attributes", "", "try again later; grid auth doctor says which of them answer").because(err)
	f.Why = strings.ReplaceAll(err.Error(), "\n", "; ")
	e, ok := errors.AsType[*voms.ServerError](err)
	switch {
	case !ok:
	case e.Code == "server-dn":
		f.ID, f.What = "voms.server-dn", "the VOMS server is not the one that vomses names"
		f.Mend = fmt.Sprintf("if the VO has announced it, correct the DN in %s:%d", e.Server.File, e.Server.Line)
	case e.Code != "" || e.Said != "":
		f.ID, f.What = "voms.refused", "the VOMS server refused"
		f.Mend = fmt.Sprintf("ask the administrators of %s whether you are a member and may have these groups and roles", vo)
	}
	if tf := explainTLS(e); tf != nil {
		tf.Subject = vo + " (" + tf.Subject + ")"
		return tf
	}
	return f
}
