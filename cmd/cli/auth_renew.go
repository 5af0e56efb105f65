package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"gridbroker/broker/clock"
	"gridbroker/credential"
	"gridbroker/jobs"
	"gridbroker/plugins"
)

func authRenewCmd(d *deps) *cobra.Command {
	sel := selection{asking: ifStates, live: true}
	cmd := &cobra.Command{
		Use:   "renew [ID...]",
		Short: "Renew the credentials delegated for live jobs",
		Long: `Gives the back-ends a new delegation of the present credential for jobs that have not ended:
one per delegation, whatever the number of jobs that share it. Without ids: all live jobs at
back-ends that keep a credential. Warns of jobs whose wall time the credential will not outlive.

` + selectionHelp,
		Example: "  grid auth proxy && grid auth renew\n  grid auth renew --state running",
	}
	sel.register(cmd)
	return jobsVerb(d, cmd, &sel, func(ctx context.Context) error { return runAuthRenew(ctx, d, sel) })
}

func runAuthRenew(ctx context.Context, d *deps, sel selection) error {
	return withJobs(ctx, d, sel, func(s *session, rs []*jobs.Outcome) error {
		if len(sel.ids) == 0 {
			rs = renewable(s, rs)
		}
		set, err := credentialSet(d)
		if err != nil {
			return err
		}
		if err := renewCredentials(ctx, d, s, set, rs); err != nil {
			return err
		}
		if d.json {
			return showJobs(d, "auth.renew", rs)
		}
		report(d, rs)
		for _, r := range rs {
			if r.Err == nil {
				sayOut(d, "%s", r.ID)
			}
		}
		return outcomeOf(d, rs, jobErr)
	})
}

// renewable leaves out jobs at back-ends that keep no credential, and jobs
// that never reached one.
func renewable(s *session, rs []*jobs.Outcome) []*jobs.Outcome {
	return slices.DeleteFunc(rs, func(r *jobs.Outcome) bool {
		backend, ok := s.backends.For(r.Handle.Interface)
		_, can := backend.(plugins.Renewer)
		return !ok || !can || r.Final() || r.Handle.ID == ""
	})
}

// renew renews and warns. An unusable credential is an error before anything
// is asked.
func renewCredentials(ctx context.Context, d *deps, s *session, set *credential.Set, rs []*jobs.Outcome) error {
	if len(rs) == 0 {
		if !d.json {
			sayErr(d, "no live jobs with a delegated credential")
		}
		return nil
	}
	if set.X509 == nil && set.Token == nil {
		for _, kind := range []string{"x509", "token"} {
			if f := set.Finding(kind); f != nil {
				return f
			}
		}
	}
	if set.X509 != nil {
		if err := set.X509.Valid(d.env.Now()); err != nil {
			return err
		}
	}
	if err := s.jobs.Renew(ctx, rs); err != nil {
		return err
	}
	warnOfLife(d, set, rs)
	return nil
}

// warnOfLife names the jobs that may run for longer than the credential lives.
func warnOfLife(d *deps, set *credential.Set, rs []*jobs.Outcome) {
	now := d.env.Now()
	short := 0
	var worst *credential.Finding
	var longest time.Duration
	for _, r := range rs {
		one := *r // so that a description that is read for this is not kept
		job, err := one.Job()
		if err != nil {
			continue
		}
		wall := job.Demand.WallTime
		if !r.Started.IsZero() {
			wall -= now.Sub(r.Started)
		}
		if f := set.Outlives(now, 0, wall); f != nil {
			if short++; wall > longest {
				worst, longest = f, wall
			}
		}
	}
	if worst != nil {
		sayErr(d, "warning: %d of %d jobs: %v", short, len(rs), worst)
	}
}

// warnShortLife warns after submission.
func warnShortLife(d *deps, s *session, rs []*jobs.Outcome) {
	sent := renewable(s, slices.Clone(rs))
	if len(sent) == 0 {
		return
	}
	if set, err := credentialSet(d); err == nil {
		warnOfLife(d, set, sent)
	}
}

type authWatchOptions struct {
	every   time.Duration // between two rounds
	forever bool          // also without a live job
}

func authWatchCmd(d *deps) *cobra.Command {
	var o authWatchOptions
	cmd := &cobra.Command{
		Use:   "watch",
		Short: "Keep the credentials of live jobs alive",
		Long: `Renews, again and again, the delegations of all live jobs, and the bearer token in its file from
a stored login before it expires. A new proxy (grid auth proxy) is taken up at the next round.
Ends when no such job is left, unless --forever; failures are reported and tried again.`,
		Example: "  grid auth watch &\n  grid auth watch --every 30m --forever",
		Args:    usageArgs(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return runAuthWatch(cmd.Context(), d, o) },
	}
	lengthVar(cmd.Flags(), &o.every, "every", time.Hour, "how often")
	cmd.Flags().BoolVar(&o.forever, "forever", false, "go on when no live job is left")
	return cmd
}

// wakeTime is how soon it is noticed that the machine has slept: timers have not
// gone on meanwhile.
const wakeTime = 5 * time.Second

func runAuthWatch(ctx context.Context, d *deps, o authWatchOptions) error {
	if o.every < time.Second {
		return usageError(fmt.Errorf("--every %s: at least a second", o.every))
	}
	for {
		live, err := watchRound(ctx, d, o.every)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			sayErr(d, "%v; trying again in %s", err, o.every)
		} else if live == 0 && !o.forever {
			return nil
		}
		for began := d.env.Now(); clock.Passed(began, d.env.Now()) < o.every; {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(min(wakeTime, o.every)):
			}
		}
	}
}

// watchRound renews once and returns how many jobs there were to renew.
func watchRound(ctx context.Context, d *deps, every time.Duration) (live int, err error) {
	set, err := credentialSet(d)
	if err != nil {
		return 0, err
	}
	if err := renewTokenFile(ctx, d, set, every); err != nil {
		sayErr(d, "%s", err)
	}
	s, rs, err := openJobs(ctx, d, planning{}, selection{live: true}, needs{})
	if err != nil {
		return 0, err
	}
	defer s.close()
	if err := s.jobs.Refresh(ctx, rs); err != nil {
		return 0, err
	}
	rs = renewable(s, rs)
	if len(rs) == 0 {
		return 0, nil
	}
	if err := renewCredentials(ctx, d, s, set, rs); err != nil {
		return len(rs), err
	}
	if d.json {
		return len(rs), printJSON(d, "auth.renew", jobsJSON(rs))
	}
	report(d, rs)
	return len(rs), nil
}

// renewTokenFile replaces the token in its default file when it would not
// live until after the next round and a login is stored.
func renewTokenFile(ctx context.Context, d *deps, set *credential.Set, every time.Duration) error {
	path := credentialEnv(d).TokenPath()
	t := set.Token
	if t == nil || set.Minter == nil || t.Source() != path || t.Expiry().IsZero() || t.Expiry().Sub(d.env.Now()) > 2*every {
		return nil
	}
	audience := ""
	if len(t.Audience()) > 0 {
		audience = t.Audience()[0]
	}
	fresh, err := set.Minter.Mint(ctx, audience, t.Scopes())
	if err != nil {
		return err
	}
	return credential.WriteSecret(path, []byte(fresh.Raw()+"\n"))
}
