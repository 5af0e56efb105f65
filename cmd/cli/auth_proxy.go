package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gridbroker/credential"
)

// proxyOptions are those of "auth proxy".
type proxyOptions struct {
	authOptions
	voms      []string
	valid     time.Duration
	vomsValid time.Duration
	key       string
	limited   bool
	pathLen   int
	out       string
	fromProxy bool
}

func authProxyCmd(d *deps) *cobra.Command {
	var f proxyOptions
	cmd := &cobra.Command{
		Use:   "proxy",
		Short: "Make an X.509 proxy, with VOMS attributes if asked for",
		Long: `Makes an RFC 3820 proxy from the user's certificate and writes it, with mode 0600, to
$X509_USER_PROXY or /tmp/x509up_u<uid>. The certificate is looked for in $X509_USER_CERT and
$X509_USER_KEY, ~/.globus/usercert.pem and userkey.pem, ~/.globus/usercred.p12; keys may be
encrypted.

With --voms the VO's servers (vomses files) are asked in turn, the next one when one fails or
does not answer within 3 seconds. A proxy is written only when all attributes were obtained and
check out.`,
		Example: `  grid auth proxy
  grid auth proxy --voms atlas:/atlas/Role=production --valid 24h
  grid auth proxy --voms atlas --voms ops --key ecdsa`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return runProxy(cmd.Context(), d, f) },
	}
	f.register(cmd)
	fs := cmd.Flags()
	fs.StringArrayVar(&f.voms, "voms", nil, "`VO[:FQAN,...]` to get attributes of; may be given several times, the first counts as primary")
	lengthVar(fs, &f.valid, "valid", 12*time.Hour, "how long the proxy lives")
	lengthVar(fs, &f.vomsValid, "voms-valid", 0, "how long the attributes live (default: as the proxy)")
	fs.StringVar(&f.key, "key", "rsa2048", "`kind` of key: "+strings.Join(credential.KeyKinds(), ", ")+" (ARC 7 takes no other ECDSA)")
	fs.BoolVar(&f.limited, "limited", false, "make a limited proxy, which may not start jobs")
	fs.IntVar(&f.pathLen, "path-length", -1, "at most `N` proxies may follow below this one; -1: no limit")
	fs.StringVarP(&f.out, "out", "o", "", "`file` to write (default $X509_USER_PROXY, /tmp/x509up_u<uid>)")
	fs.BoolVar(&f.fromProxy, "from-proxy", false, "make it from the present proxy instead of the certificate")
	return cmd
}

func runProxy(ctx context.Context, d *deps, f proxyOptions) error {
	if !slices.Contains(append(credential.KeyKinds(), "ecdsa256"), f.key) {
		return usageError(fmt.Errorf("--key %s: no such kind of key: there are %s; the file of a key is --key-file", f.key, strings.Join(credential.KeyKinds(), ", ")))
	}
	opts, err := f.options(d)
	if err != nil {
		return err
	}
	if opts.Passphrase, err = askPassphrase(d, &f.authOptions); err != nil {
		return err
	}
	env := credentialEnv(d)
	user, err := proxyIssuer(d, env, opts, f.fromProxy)
	if err != nil {
		return err
	}
	po := credential.ProxyOptions{Now: d.env.Now(), Lifetime: f.valid, Limited: f.limited, Key: f.key}
	if f.pathLen >= 0 {
		po.PathLen = &f.pathLen
	}
	if len(f.voms) > 0 {
		if err := fetchACs(ctx, d, env, opts, f, user, &po); err != nil {
			return err
		}
	}
	proxy, err := user.NewProxy(po)
	if err != nil {
		return err
	}
	out := f.out
	if out == "" {
		out = env.ProxyPath()
	}
	if err := proxy.Save(out); err != nil {
		return err
	}
	return reportProxy(d, env, opts, out)
}

// proxyIssuer is what signs the proxy.
func proxyIssuer(d *deps, env credential.Env, opts credential.Options, fromProxy bool) (*credential.X509, error) {
	if fromProxy {
		return credential.FindX509(env, credential.Options{Proxy: env.ProxyPath()})
	}
	return credential.FindUserCert(env, opts)
}

func fetchACs(ctx context.Context, d *deps, env credential.Env, opts credential.Options, f proxyOptions, user *credential.X509, po *credential.ProxyOptions) error {
	trust, err := credential.LoadTrust(env, opts)
	if err != nil {
		return err
	}
	life := f.vomsValid
	if life <= 0 {
		life = f.valid
	}
	acs, remarks, err := credential.FetchACs(ctx, env, opts, user, trust, f.voms, life)
	for _, r := range remarks {
		sayErr(d, "VOMS server remarks: %s", r)
	}
	po.ACs = acs
	return err
}

// reportProxy reads the new file back as everybody will, and shows it.
func reportProxy(d *deps, env credential.Env, opts credential.Options, path string) error {
	set, err := credential.Discover(env, credential.Options{Proxy: path, CertDir: opts.CertDir, CAs: opts.CAs, NoToken: true})
	if err != nil {
		return err
	}
	set.Verify(env.VOMSDir(opts))
	return runAuthStatus(d, set)
}
