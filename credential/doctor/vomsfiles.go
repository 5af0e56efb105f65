package doctor

import (
	"context"
	"slices"
	"sync"

	"gridbroker/credential"
	"gridbroker/credential/voms"
	"gridbroker/durable"
)

// voms reads vomses files and vomsdir, and knocks at the servers of the
// user's VO.
func (d Doctor) voms(ctx context.Context, set *credential.Set) []credential.Finding {
	servers, errs := voms.ReadVomses(d.Env.VOMSES()...)
	var fs []credential.Finding
	for _, err := range errs {
		fs = append(fs, credential.Finding{ID: "vomses.malformed", Severity: credential.Problem, What: "a vomses file cannot be used", Why: err.Error(),
			Mend: `correct the line: "VO" "host" "port" "DN of the server" "VO"`})
	}
	fs = append(fs, d.vomsDir()...)
	if set.X509 == nil || set.X509.VO() == "" {
		return fs
	}
	mine := voms.ServersOf(servers, set.X509.VO())
	if len(mine) == 0 {
		return append(fs, credential.Finding{ID: "vomses.absent", Severity: credential.Note, Subject: set.X509.VO(), What: "no VOMS server is known for the VO of the proxy",
			Why: "the proxy cannot be made anew here", Mend: "add the VO's line to ~/.voms/vomses"})
	}
	return append(fs, d.knock(ctx, set, mine)...)
}

// vomsDir reads every LSC file.
func (d Doctor) vomsDir() []credential.Finding {
	files, _ := durable.Named(d.Env.VOMSDir(d.Opts), "*/*.lsc")
	var fs []credential.Finding
	for _, file := range files {
		if _, err := voms.ReadLSC(file); err != nil {
			fs = append(fs, credential.Finding{ID: "vomsdir.malformed", Severity: credential.Warning, Subject: file, What: "this list of a VOMS server's certificates cannot be used",
				Why: err.Error(), Mend: "write the DN of the server's certificate on the first line, that of its CA on the second"})
		}
	}
	return fs
}

// knock opens a connection to each server, side by side.
func (d Doctor) knock(ctx context.Context, set *credential.Set, servers []voms.Server) []credential.Finding {
	if set.Trust == nil {
		return nil
	}
	fs := make([]credential.Finding, len(servers))
	var wg sync.WaitGroup
	for i, s := range servers {
		wg.Go(func() {
			if f := credential.KnockVOMS(ctx, set.X509, set.Trust, s, d.timeout()); f != nil {
				fs[i] = *f
			} else {
				fs[i] = good("voms.reachable", s.String(), "VOMS server of "+s.VO+" answers", "")
			}
		})
	}
	wg.Wait()
	return slices.Clip(fs)
}
