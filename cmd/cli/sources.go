package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"gridbroker/credential"
	"gridbroker/infosys"
	"gridbroker/plugins"
)

// discovery holds the flags of every verb that asks what resources there are.
type discovery struct {
	info     []string
	deadline time.Duration
	maxAge   time.Duration
	noCache  bool
	onlyVO   string   // ask only for what this VO may use; "": for all
	extra    []string // attributes to ask for besides those of glue's table
}

func (d *discovery) register(f *pflag.FlagSet) {
	f.StringArrayVar(&d.info, "info", nil, "`source` of resources, instead of the configured ones; may be repeated (ldap://..., https://..., file:..., archery:..., slurm:, condor:, wiki://..., local:)")
	lengthVar(f, &d.deadline, "deadline", 0, "`time` for asking all sources (default 8s)")
	f.BoolVar(&d.noCache, "no-cache", false, "neither use nor keep cached answers")
	lengthVar(f, &d.maxAge, "max-age", -1, "use cached answers not older than this `time` without asking (default 1m)")
}

// apply puts the configuration in the place of what no flag says.
func (d *discovery) apply(a *deps, c config) {
	if len(d.info) == 0 {
		d.info = c.Sources
	}
	if bdii := a.env.Getenv("LCG_GFAL_INFOSYS"); len(d.info) == 0 && bdii != "" {
		for _, host := range strings.Split(bdii, ",") {
			d.info = append(d.info, "ldap://"+host)
		}
	}
	if len(d.info) == 0 {
		d.info = []string{"local:"}
	}
	if d.deadline == 0 {
		d.deadline = c.Deadline.Duration
	}
	if d.maxAge < 0 {
		d.maxAge = c.MaxAge.Duration
	}
}

// discover asks the sources the flags or the configuration name.
func discover(ctx context.Context, d *deps, c config, b *plugins.Registry, where discovery) (infosys.Snapshot, error) {
	where.apply(d, c)
	srcs, err := opener(d, c, b, where).OpenAll(where.info)
	if err != nil {
		return infosys.Snapshot{}, usageError(err)
	}
	collector := infosys.Collector{Deadline: where.deadline, MaxAge: where.maxAge, Now: d.env.Now, Rules: claimRules(b.All())}
	if !where.noCache {
		collector.Cache = ownCache(d)
	}
	return collector.Collect(ctx, srcs...), nil
}

// ownCache is the cache of answers, where nobody else can have put any; nil
// otherwise, with a word about it.
func ownCache(d *deps) *infosys.Cache {
	dir := cacheDir(d)
	if err := credential.OwnedPlace(credentialEnv(d), dir); err != nil {
		sayErr(d, "the cache of answers is not used: %v", err)
		return nil
	}
	return infosys.NewCache(dir)
}

// claimRules are what the back-ends leave to other sources than their own.
func claimRules(backends []plugins.Opened) infosys.Rules {
	rules := infosys.Rules{Foreign: map[string][]string{}}
	for _, b := range backends {
		var foreign []string
		for _, iface := range b.Interfaces {
			rules.Foreign[iface] = b.Foreign[iface]
			foreign = append(foreign, b.Foreign[iface]...)
		}
		for _, scheme := range b.Schemes {
			if !slices.Contains(foreign, scheme) {
				rules.Own = append(rules.Own, scheme)
			}
		}
	}
	return rules
}

// opener knows every kind of source, those of the back-ends that describe
// themselves included.
func opener(d *deps, c config, b *plugins.Registry, where discovery) *infosys.Opener {
	find := sync.OnceValues(func() (*credential.Set, error) { return credentialSet(d) })
	o := infosys.NewOpener(infosys.Env{
		Dir: d.env.Dir, Resolver: c.Resolver, Now: d.env.Now, VO: where.onlyVO, Extra: where.extra, Named: slices.Concat(where.info, named(c)),
		Dialer: func(withCredential bool) (*credential.Dialer, error) {
			set, err := trusting(find())
			switch {
			case err != nil:
				return nil, err
			case withCredential:
				return set.Dialer(unexpired(d, set.X509)), nil
			}
			return &credential.Dialer{Trust: set.Trust}, nil
		},
		Token: func(_ context.Context, url string) (string, error) {
			set, err := find()
			if err != nil || set.Token == nil || !set.Token.For(url) {
				return "", err
			}
			return set.Token.Raw(), nil
		},
	})
	for _, back := range b.All() {
		s, ok := back.Submitter.(plugins.SourceOpener)
		if !ok {
			continue
		}
		for _, scheme := range back.Schemes {
			o.Register(scheme, func(u *url.URL) (infosys.Source, error) { return s.Source(u) })
		}
	}
	return o
}

// trusting asks that there are authorities to believe servers by.
func trusting(set *credential.Set, err error) (*credential.Set, error) {
	if err != nil {
		return nil, err
	}
	if f := set.Finding("trust"); set.Trust == nil && f != nil {
		return nil, f
	}
	return set, nil
}

// valid drops a credential that has run out: many servers tell strangers what
// they refuse to tell those with a bad credential.
func unexpired(d *deps, x *credential.X509) *credential.X509 {
	if x == nil || d.env.Now().After(x.NotAfter()) {
		return nil
	}
	return x
}

// reportSources says on standard error what went wrong with sources.
func reportSources(d *deps, s infosys.Snapshot) {
	for _, o := range s.Outcomes {
		reportClaims(d, o)
		if o.Err == nil {
			continue
		}
		stale := ""
		if o.Stale {
			stale = fmt.Sprintf(" (used its answer of %s ago)", ago(d, o.Fetched))
		}
		sayErr(d, "source %s %s%s%s", lead(o.Source), sourceError(o), sourceHint(d, o), stale)
	}
}

// claimsShown is how many refused claims of a source are told one by one.
const claimsShown = 3

// reportClaims says what a source named without being allowed to.
func reportClaims(d *deps, o infosys.Outcome) {
	for _, c := range o.Refused[:min(claimsShown, len(o.Refused))] {
		sayErr(d, "source %s %v", lead(o.Source), c)
	}
	if n := len(o.Refused) - claimsShown + o.MoreRefused; n > 0 {
		sayErr(d, "source %s %d more endpoints are not used", lead(o.Source), n)
	}
}

// lead is a name before what is said of it. Addresses such as slurm: have their colon.
func lead(name string) string { return strings.TrimSuffix(name, ":") + ":" }

// sourceError is what went wrong, without the address that stands before it.
func sourceError(o infosys.Outcome) passage {
	return passage(strings.TrimPrefix(o.Err.Error(), o.Source+": "))
}

// sourceHint says what to do about a source's error, where that is known.
func sourceHint(d *deps, o infosys.Outcome) string {
	if f := sourceFinding(d, o); f != nil && !saysWhatHelps(o.Err) {
		return fmt.Sprintf("; %s [%s], mend: %s", f.What, f.ID, f.Mend)
	}
	if e, ok := errors.AsType[*infosys.HTTPError](o.Err); ok && e.Unauthorised() {
		return "; see: grid auth doctor " + o.Source
	}
	return ""
}
