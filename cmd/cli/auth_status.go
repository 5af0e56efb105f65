package cli

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gridbroker/credential"
	"gridbroker/foreign"
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
	Seconds  int64        `json:"left" unit:"seconds"`
	VOMS     []vomsStatus `json:"voms"`
}

type vomsStatus struct {
	VO      string    `json:"vo"`
	Server  string    `json:"server"`
	Issuer  string    `json:"issuer"`
	FQANs   []string  `json:"fqans"`
	Expires time.Time `json:"expires"`
	Seconds int64     `json:"left" unit:"seconds"`
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
	Seconds  int64     `json:"left" unit:"seconds"`
}

type trustStatus struct {
	Dir         string `json:"dir"`
	Authorities int    `json:"authorities"`
	System      bool   `json:"system"`
}

func authStatusCmd(d *deps) *cobra.Command {
	var flags authOptions
	cmd := &cobra.Command{
		Use:   "status",
		Short: "What credentials there are, whose, for how long",
		Long: `Shows the credentials that submission would use: the X.509 proxy or certificate with its
VOMS attributes, the bearer token with its audience and scopes, the certificate authorities.
Tokens are decoded for display only and never shown themselves.

Ends with exit code 4 when there is no credential that could be used.`,
		Example: "  grid auth status\n  grid auth status --json | jq .x509.left_seconds",
		Args:    usageArgs(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			opts, err := flags.options(d)
			if err != nil {
				return err
			}
			set, err := credential.Discover(credentialEnv(d), opts)
			if err != nil {
				return err
			}
			set.Verify(credentialEnv(d).VOMSDir(opts))
			return runAuthStatus(d, set)
		},
	}
	flags.register(cmd)
	cmd.Flags().StringVar(&flags.opts.Proxy, "proxy", "", "proxy `file` (default $X509_USER_PROXY, /tmp/x509up_u<uid>)")
	cmd.Flags().StringVar(&flags.opts.TokenFile, "token-file", "", "token `file` (default: WLCG bearer token discovery)")
	return cmd
}

func runAuthStatus(d *deps, set *credential.Set) error {
	st := statusOf(set, d.env.Now())
	if d.json {
		if err := printJSON(d, "auth.status", st); err != nil {
			return err
		}
	} else {
		writeStatus(d, st)
		writeFindings(d, st.Findings)
	}
	if !usable(st, d.env.Now()) {
		if d.json {
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

func writeStatus(d *deps, st authStatus) {
	if x := st.X509; x != nil {
		kind := "certificate"
		if x.Proxy {
			kind = "proxy"
		}
		statusField(d, "X.509", styled(d, bold, x.Identity))
		statusField(d, "  "+kind, x.Path)
		statusField(d, "  issuer", x.Issuer)
		statusField(d, "  valid", untilText(d, x.Expires))
		for _, v := range x.VOMS {
			statusField(d, "  VO", fmt.Sprintf("%s by %s, %s", v.VO, v.Server, untilText(d, v.Expires)))
			for _, f := range v.FQANs {
				statusField(d, "    FQAN", f)
			}
		}
	}
	if t := st.Token; t != nil {
		statusField(d, "Token", styled(d, bold, t.Source))
		if t.Opaque {
			statusField(d, "  content", "not a JWT: only its issuer can read it")
		} else {
			statusField(d, "  subject", t.Subject)
			statusField(d, "  issuer", t.Issuer)
			statusField(d, "  audience", strings.Join(t.Audience, " "))
			statusField(d, "  scopes", strings.Join(t.Scopes, " "))
			statusField(d, "  groups", strings.Join(t.Groups, " "))
			statusField(d, "  valid", untilText(d, t.Expires))
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
		statusField(d, "Trust", strings.Join(from, " and "))
	}
}

func statusField(d *deps, name, value string) {
	if value != "" {
		sayOut(d, "%-11s %s", name, value)
	}
}

// until writes how long something lives.
func untilText(d *deps, end time.Time) string {
	if end.IsZero() {
		return "does not say how long"
	}
	length := end.Sub(d.env.Now())
	if length <= 0 {
		return styled(d, red, "expired "+credential.Span(length)+" ago")
	}
	text := fmt.Sprintf("%s, until %s", credential.Span(length), end.Local().Format("2006-01-02 15:04 MST"))
	if length < time.Hour {
		return styled(d, yellow, text)
	}
	return text
}

// writeFindings prints findings, one paragraph each.
func writeFindings(d *deps, fs []credential.Finding) {
	colours := map[credential.Severity]style{credential.OK: green, credential.Note: dim, credential.Warning: yellow, credential.Problem: red}
	for _, f := range fs {
		what := f.What
		if f.Subject != "" {
			what = f.Subject + ": " + what
		}
		sayOut(d, "%s %s %s", styled(d, colours[f.Severity], fmt.Sprintf("%-8s", f.Severity)), what, styled(d, dim, "["+f.ID+"]"))
		if f.Why != "" {
			sayOut(d, "         %s", foreign.Message(f.Why))
		}
		if f.Mend != "" {
			sayOut(d, "         %s %s", styled(d, bold, "mend:"), f.Mend)
		}
	}
}
