package cli

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gridbroker/credential"
	"gridbroker/credential/oidc"
)

// computeScopes are those of the WLCG token profile 1.3 for computing.
var computeScopes = []string{"compute.create", "compute.read", "compute.modify", "compute.cancel"}

type loginOptions struct {
	authOptions
	issuer, clientID, secretFile, audience string
	scopes                                 []string
	out                                    string
	noStore, logout                        bool
}

func authLoginCmd(d *deps) *cobra.Command {
	var f loginOptions
	cmd := &cobra.Command{
		Use:   "login",
		Short: "Get a bearer token from an OpenID Connect issuer",
		Long: `Gets a bearer token by the device flow: shows an address and a code, and waits until you have
logged in there with a browser, on whatever machine. The token is written, with mode 0600, to
$BEARER_TOKEN_FILE, $XDG_RUNTIME_DIR/bt_u<uid> or /tmp/bt_u<uid>, where all grid software finds it.

The refresh token is kept below the state directory, so that submission gets tokens for each
endpoint's own audience by itself, and so that a second login needs no browser. --logout forgets it.

Without --client-id a client is registered at the issuer, where the issuer lets everybody do so.
If oidc-agent is running, name its account in GRID_OIDC_ACCOUNT and no login is needed.`,
		Example: `  grid auth login --issuer https://iam.example.org/
  grid auth login --audience https://ce.example.org --scope compute.create
  grid auth login --issuer https://iam.example.org/ --logout`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return runLogin(cmd.Context(), d, f) },
	}
	f.register(cmd)
	fs := cmd.Flags()
	fs.StringVar(&f.issuer, "issuer", "", "issuer `URL` (default: the configured one, or that of the only stored login)")
	fs.StringVar(&f.clientID, "client-id", "", "`name` of the client registered at the issuer")
	fs.StringVar(&f.secretFile, "client-secret-file", "", "`file` with the client's secret, if it has one")
	fs.StringVar(&f.audience, "audience", "", "`audience` of the token: https://host of an endpoint (default: the issuer's)")
	fs.StringSliceVar(&f.scopes, "scope", computeScopes, "`scopes` to ask for")
	fs.StringVarP(&f.out, "out", "o", "", "`file` to write the token to")
	fs.BoolVar(&f.noStore, "no-refresh", false, "do not keep the refresh token")
	fs.BoolVar(&f.logout, "logout", false, "forget the stored login")
	return cmd
}

func runLogin(ctx context.Context, d *deps, f loginOptions) error {
	env := credentialEnv(d)
	store, err := loginStore(d)
	if err != nil {
		return err
	}
	sessions, err := store.List(env)
	if err != nil {
		return err
	}
	conf, err := loadConfig(d)
	if err != nil {
		return err
	}
	f.at(conf.Auth, sessions)
	if f.issuer == "" {
		return usageError(fmt.Errorf("--issuer URL is needed: %d logins are stored", len(sessions)))
	}
	if f.logout {
		return store.Delete(f.issuer)
	}
	opts, err := f.options(d)
	if err != nil {
		return err
	}
	trust, err := credential.LoadTrust(env, opts)
	if err != nil {
		return err
	}
	token, err := getToken(ctx, d, f, store, sessions, trust)
	if err != nil {
		return err
	}
	if err := oidc.CheckAudience(token, f.issuer, f.audience); err != nil {
		return err
	}
	out := f.out
	if out == "" {
		out = env.TokenPath()
	}
	if err := credential.WriteSecret(out, []byte(token.Raw()+"\n")); err != nil {
		return err
	}
	set, err := credential.Discover(env, credential.Options{TokenFile: out, NoX509: true, CertDir: opts.CertDir, CAs: opts.CAs})
	if err != nil {
		return err
	}
	return runAuthStatus(d, set)
}

// at puts the configured issuer, or that of the one stored login, in the place
// of what no flag says.
func (f *loginOptions) at(conf authConfig, sessions []*oidc.Session) {
	f.issuer = cmp.Or(f.issuer, conf.Issuer)
	if f.clientID == "" && f.issuer == conf.Issuer {
		f.clientID = conf.ClientID
	}
	if f.issuer == "" && len(sessions) == 1 {
		f.issuer = sessions[0].Issuer
	}
}

// getToken uses a stored login, or does the device flow.
func getToken(ctx context.Context, d *deps, f loginOptions, store oidc.Store, sessions []*oidc.Session, trust *credential.Trust) (*credential.Token, error) {
	client := trust.HTTPClient(nil, 30*time.Second)
	for _, s := range sessions {
		if strings.TrimSuffix(s.Issuer, "/") != strings.TrimSuffix(f.issuer, "/") {
			continue
		}
		t, err := s.Refresh(ctx, client, f.audience, f.scopes)
		if err == nil {
			return t, store.Save(s)
		}
		sayErr(d, "the stored login does not do: %v", err)
	}
	secret, err := clientSecret(d, f.secretFile)
	if err != nil {
		return nil, err
	}
	l := oidc.Login{HTTP: client, Issuer: f.issuer, ClientID: f.clientID, ClientSecret: secret, Scopes: f.scopes, Audience: f.audience, Show: func(url, code, complete string) { showCode(d, url, code, complete) }}
	s, t, err := l.Run(ctx)
	if err != nil && ctx.Err() != nil { // not the issuer's fault, and no finding about it
		return nil, ctx.Err()
	}
	if err != nil || f.noStore {
		return t, err
	}
	return t, store.Save(s)
}

func showCode(d *deps, url, code, complete string) {
	if complete != "" {
		url = complete
	}
	say(d, d.env.Err, "Open %s\nand enter the code %s\n", styled(d, bold, url), styled(d, bold, code))
}

func clientSecret(d *deps, file string) (string, error) {
	if file == "" {
		return "", nil
	}
	text, err := credential.ReadSecret(credentialEnv(d), file)
	if err != nil {
		return "", err
	}
	defer clear(text)
	return strings.TrimSpace(string(text)), nil
}

// loginStore is where logins are kept.
func loginStore(d *deps) (oidc.Store, error) {
	c, err := loadConfig(d)
	if err != nil {
		return oidc.Store{}, err
	}
	return oidc.Store{Dir: filepath.Join(stateDir(d, c), "logins")}, nil
}

// minter gets tokens for single endpoints from oidc-agent or a stored login.
func minter(d *deps, trust *credential.Trust) (credential.Minter, error) {
	store, err := loginStore(d)
	if err != nil {
		return nil, err
	}
	agent := oidc.Agent{Socket: d.env.Getenv("OIDC_SOCK"), Account: d.env.Getenv("GRID_OIDC_ACCOUNT"), Issuer: d.env.Getenv("GRID_OIDC_ISSUER")}
	m := &oidc.Minter{Env: credentialEnv(d), Store: store, HTTP: trust.HTTPClient(nil, 30*time.Second), Agent: agent}
	if d.verbose > 0 {
		m.Used = func(from, audience string) { sayErr(d, "token for %s: by %s", cmp.Or(audience, "any audience"), from) }
	}
	return m, nil
}

// credentials are the ones submission uses: what the environment offers, and
// the means to get tokens for single endpoints.
func credentials(d *deps, opts credential.Options) (*credential.Set, error) {
	c, err := loadConfig(d)
	if err != nil {
		return nil, err
	}
	opts.PublicCAs, opts.AnyToken = c.Auth.PublicCAs, c.Auth.AnyToken
	set, err := credential.Discover(credentialEnv(d), opts)
	if err != nil || set.Trust == nil {
		return set, err
	}
	set.Minter, err = minter(d, set.Trust)
	return set, err
}
