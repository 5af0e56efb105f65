package cli

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gridbroker/credential"
)

// authStatus is what "auth status" tells.
type authStatus struct {
	X509     *x509Status          `json:"x509"`
	Token    *tokenStatus         `json:"token"`
	Trust    *trustStatus         `json:"trust"`
	Findings []credential.Finding `json:"findings"`
}

type x509Status struct {
	Path     string       `json:"path"`
	Identity string       `json:"identity"`
	Subject  string       `json:"subject"`
	Issuer   string       `json:"issuer"`
	Proxy    bool         `json:"proxy"`
	Limited  bool         `json:"limited"`
	Expires  time.Time    `json:"expires"`
	Seconds  int64        `json:"seconds_left"`
	VOMS     []vomsStatus `json:"voms"`
}

type vomsStatus struct {
	VO      string    `json:"vo"`
	Server  string    `json:"server"`
	Issuer  string    `json:"issuer"`
	FQANs   []string  `json:"fqans"`
	Expires time.Time `json:"expires"`
	Seconds int64     `json:"seconds_left"`
}

type tokenStatus struct {
	Source   string    `json:"source"`
	Opaque   bool      `json:"opaque"`
	Subject  string    `json:"subject"`
	Issuer   string    `json:"issuer"`
	Audience []string  `json:"audience"`
	Scopes   []string  `json:"scopes"`
	Groups   []string  `json:"groups"`
	Expires  time.Time `json:"expires"`
	Seconds  int64     `json:"seconds_left"`
}

type trustStatus struct {
	Dir         string `json:"dir"`
	Authorities int    `json:"authorities"`
	System      bool   `json:"system"`
}

func (a *app) authStatusCmd() *cobra.Command {
	var flags authFlags
	cmd := &cobra.Command{
		Use:   "status",
		Short: "What credentials there are, whose, for how long",
		Long: `Shows the credentials that submission would use: the X.509 proxy or certificate with its
VOMS attributes, the bearer token with its audience and scopes, the certificate authorities.
Tokens are decoded for display only and never shown themselves.

Ends with exit code 4 when there is no credential that could be used.`,
		Example: "  grid auth status\n  grid auth status --json | jq .x509.seconds_left",
		Args:    usageArgs(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			opts, err := flags.options(a)
			if err != nil {
				return err
			}
			set, err := credential.Discover(a.credentialEnv(), opts)
			if err != nil {
				return err
			}
			set.Verify(a.credentialEnv().VOMSDir(opts))
			return a.printStatus(set)
		},
	}
	flags.register(cmd)
	cmd.Flags().StringVar(&flags.opts.Proxy, "proxy", "", "proxy `file` (default $X509_USER_PROXY, /tmp/x509up_u<uid>)")
	cmd.Flags().StringVar(&flags.opts.TokenFile, "token-file", "", "token `file` (default: WLCG bearer token discovery)")
	return cmd
}

func (a *app) printStatus(set *credential.Set) error {
	st := statusOf(set, a.env.Now())
	if a.json {
		if err := a.printJSON("auth.status", st); err != nil {
			return err
		}
	} else {
		a.writeStatus(st)
		a.writeFindings(st.Findings)
	}
	if !usable(st, a.env.Now()) {
		if a.json {
			return &exitError{exitCredential, errReported}
		}
		return &exitError{exitCredential, errors.New("no usable credential")}
	}
	return nil
}

// usable reports whether a server could accept something of it.
func usable(st authStatus, now time.Time) bool {
	x := st.X509 != nil && now.Before(st.X509.Expires)
	t := st.Token != nil && (st.Token.Opaque || st.Token.Expires.IsZero() || now.Before(st.Token.Expires))
	return x || t
}

func statusOf(set *credential.Set, now time.Time) authStatus {
	st := authStatus{Findings: set.Findings}
	if st.Findings == nil {
		st.Findings = []credential.Finding{}
	}
	if x := set.X509; x != nil {
		st.X509 = &x509Status{Path: x.Path(), Identity: x.Identity(), Subject: x.Subject(), Issuer: x.Issuer(), Proxy: x.IsProxy(),
			Limited: x.Limited(), Expires: x.NotAfter(), Seconds: left(x.NotAfter(), now), VOMS: vomsOf(x, now)}
	}
	if t := set.Token; t != nil {
		st.Token = &tokenStatus{Source: t.Source(), Opaque: t.Opaque(), Subject: t.Subject(), Issuer: t.Issuer(), Audience: t.Audience(),
			Scopes: t.Scopes(), Groups: t.Groups(), Expires: t.Expiry(), Seconds: left(t.Expiry(), now)}
	}
	if t := set.Trust; t != nil {
		st.Trust = &trustStatus{Dir: t.Dir(), Authorities: t.Size(), System: t.System()}
	}
	return st
}

func vomsOf(x *credential.X509, now time.Time) []vomsStatus {
	acs, _ := x.ACs() // a defect is among the findings
	all := []vomsStatus{}
	for _, ac := range acs {
		all = append(all, vomsStatus{VO: ac.VO, Server: ac.Server, Issuer: ac.Issuer, FQANs: ac.FQANs, Expires: ac.NotAfter, Seconds: left(ac.NotAfter, now)})
	}
	return all
}

func left(end, now time.Time) int64 {
	if end.IsZero() {
		return 0
	}
	return max(0, int64(end.Sub(now).Seconds()))
}

func (a *app) writeStatus(st authStatus) {
	if x := st.X509; x != nil {
		kind := "certificate"
		if x.Proxy {
			kind = "proxy"
		}
		a.field("X.509", a.style(bold, x.Identity))
		a.field("  "+kind, x.Path)
		a.field("  issuer", x.Issuer)
		a.field("  valid", a.until(x.Expires))
		for _, v := range x.VOMS {
			a.field("  VO", fmt.Sprintf("%s by %s, %s", v.VO, v.Server, a.until(v.Expires)))
			for _, f := range v.FQANs {
				a.field("    FQAN", f)
			}
		}
	}
	if t := st.Token; t != nil {
		a.field("Token", a.style(bold, t.Source))
		if t.Opaque {
			a.field("  content", "not a JWT: only its issuer can read it")
		} else {
			a.field("  subject", t.Subject)
			a.field("  issuer", t.Issuer)
			a.field("  audience", strings.Join(t.Audience, " "))
			a.field("  scopes", strings.Join(t.Scopes, " "))
			a.field("  groups", strings.Join(t.Groups, " "))
			a.field("  valid", a.until(t.Expires))
		}
	}
	if t := st.Trust; t != nil {
		var from []string
		if t.Dir != "" {
			from = append(from, fmt.Sprintf("%s (%d authorities)", t.Dir, t.Authorities))
		}
		if t.System {
			from = append(from, "the system's authorities")
		}
		a.field("Trust", strings.Join(from, " and "))
	}
}

func (a *app) field(name, value string) {
	if value != "" {
		fmt.Fprintf(a.env.Out, "%-11s %s\n", name, value)
	}
}

// until writes how long something lives.
func (a *app) until(end time.Time) string {
	if end.IsZero() {
		return "does not say how long"
	}
	d := end.Sub(a.env.Now())
	if d <= 0 {
		return a.style(red, "expired "+credential.Span(d)+" ago")
	}
	text := fmt.Sprintf("%s, until %s", credential.Span(d), end.Local().Format("2006-01-02 15:04 MST"))
	if d < time.Hour {
		return a.style(yellow, text)
	}
	return text
}

// writeFindings prints findings, one paragraph each.
func (a *app) writeFindings(fs []credential.Finding) {
	colours := map[credential.Severity]style{credential.OK: green, credential.Note: dim, credential.Warning: yellow, credential.Problem: red}
	for _, f := range fs {
		what := f.What
		if f.Subject != "" {
			what = f.Subject + ": " + what
		}
		fmt.Fprintf(a.env.Out, "%s %s %s\n", a.style(colours[f.Severity], fmt.Sprintf("%-8s", f.Severity)), what, a.style(dim, "["+f.ID+"]"))
		if f.Why != "" {
			fmt.Fprintf(a.env.Out, "         %s\n", f.Why)
		}
		if f.Mend != "" {
			fmt.Fprintf(a.env.Out, "         %s %s\n", a.style(bold, "mend:"), f.Mend)
		}
	}
}
