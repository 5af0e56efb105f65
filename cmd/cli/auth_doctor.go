package cli

import (
	"context"

	"github.com/spf13/cobra"

	"gridbroker/credential"
	"gridbroker/credential/doctor"
)

func authDoctorCmd(d *deps) *cobra.Command {
	var flags authOptions
	cmd := &cobra.Command{
		Use:   "doctor [ENDPOINT...]",
		Short: "What is wrong with credentials, and how to mend it",
		Long: `Looks over, in this order: credential files and their permissions, their validity and chain,
VOMS attributes, the bearer token and stored logins, the certificate authorities with their
revocation lists, the VOMS servers. With an endpoint also: its name and certificate, the clocks,
and whether it lets each of your credentials in.

Every finding has an id that does not change; messages of other verbs name it in brackets. Ends
with exit code 4 when something does not work.`,
		Example: "  grid auth doctor\n  grid auth doctor https://ce.example.org:443/arex\n  grid auth doctor --json | jq '.findings[] | select(.severity == \"problem\")'",
		RunE: func(cmd *cobra.Command, endpoints []string) error {
			opts, err := flags.options(d)
			if err != nil {
				return err
			}
			return runAuthDoctor(cmd.Context(), d, opts, endpoints)
		},
	}
	flags.register(cmd)
	cmd.Flags().StringVar(&flags.opts.Proxy, "proxy", "", "proxy `file` (default $X509_USER_PROXY, /tmp/x509up_u<uid>)")
	cmd.Flags().StringVar(&flags.opts.TokenFile, "token-file", "", "token `file` (default: WLCG bearer token discovery)")
	return cmd
}

func runAuthDoctor(ctx context.Context, d *deps, opts credential.Options, endpoints []string) error {
	store, err := loginStore(d)
	if err != nil {
		return err
	}
	c, err := loadConfig(d)
	if err != nil {
		return err
	}
	opts.PublicCAs, opts.AnyToken = c.Auth.PublicCAs, c.Auth.AnyToken
	doc := doctor.Doctor{Env: credentialEnv(d), Opts: opts, Logins: store}
	if trust, err := credential.LoadTrust(doc.Env, opts); err == nil {
		if doc.Minter, err = minter(d, trust); err != nil {
			return err
		}
	}
	set, findings := doc.Local(ctx)
	for _, e := range endpoints {
		findings = append(findings, doc.Endpoint(ctx, e, set)...)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if d.json {
		err = printJSON(d, "auth.doctor", doctorDocument{findings, credential.Worst(findings)})
	} else {
		writeFindings(d, findings)
	}
	if err == nil && credential.Worst(findings) == credential.Problem {
		return &exitError{exitCredential, errReported}
	}
	return err
}
