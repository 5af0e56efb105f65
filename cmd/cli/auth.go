package cli

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"gridbroker/credential"
)

// authCmd is the parent of the verbs about credentials.
func authCmd(d *deps) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "auth",
		Short: "Credentials: what there is, make, renew, mend",
		Long: `Finds, makes and checks what the grid wants to see: X.509 proxies (RFC 3820) with
VOMS attributes, bearer tokens, and the certificate authorities to trust.

Nothing else needs to be installed: proxies, VOMS and tokens are handled here.`,
		Example: "  grid auth status\n  grid auth proxy --voms atlas\n  grid auth doctor https://ce.example.org/arex",
	}
	cmd.AddCommand(authStatusCmd(d), authProxyCmd(d), authLoginCmd(d), authRenewCmd(d), authWatchCmd(d), authDoctorCmd(d))
	return cmd
}

// authOptions are the files that credentials are looked for in.
type authOptions struct {
	opts    credential.Options
	cas     string
	pwstdin bool
	pwfile  string
}

func (f *authOptions) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.opts.Cert, "cert", "", "certificate `file`, PEM or PKCS#12 (default $X509_USER_CERT, ~/.globus)")
	fs.StringVar(&f.opts.Key, "key-file", "", "private key `file` (default $X509_USER_KEY, ~/.globus)")
	fs.StringVar(&f.opts.CertDir, "cert-dir", "", "`directory` of CA certificates (default $X509_CERT_DIR, /etc/grid-security/certificates)")
	fs.StringVar(&f.opts.VOMSDir, "voms-dir", "", "`directory` of VOMS server descriptions (default $X509_VOMS_DIR)")
	fs.StringVar(&f.cas, "cas", "any", "`which` certificate authorities to trust: any, grid, system")
	fs.BoolVar(&f.pwstdin, "pwstdin", false, "read the passphrase from standard input")
	fs.StringVar(&f.pwfile, "pwfile", "", "read the passphrase from the first line of a `file` that only you may read, or from a descriptor: /dev/fd/3")
}

// options completes the flags; prompts are given only by verbs that need keys.
func (f *authOptions) options(a *deps) (credential.Options, error) {
	o := f.opts
	switch f.cas {
	case "any":
	case "grid", "system":
		o.CAs = credential.CAs(f.cas)
	default:
		return o, usageError(fmt.Errorf("--cas %q: want any, grid or system", f.cas))
	}
	return o, nil
}

// askPassphrase prompts on the terminal, without echo, or reads a line of
// standard input or of a file when told to. There is no way by the environment
// or an argument: other users of the machine could see it there.
func askPassphrase(d *deps, f *authOptions) (func(string) ([]byte, error), error) {
	switch {
	case f.pwstdin && f.pwfile != "":
		return nil, usageError(errors.New("--pwstdin and --pwfile: one of them"))
	case f.pwstdin:
		return passphraseFrom(d.env.In, "standard input"), nil
	case f.pwfile != "":
		text, err := readPassphraseFile(d, f.pwfile)
		if err != nil {
			return nil, err
		}
		return passphraseFrom(bytes.NewReader(text), f.pwfile), nil
	}
	return func(prompt string) ([]byte, error) {
		f, ok := d.env.In.(*os.File)
		if !ok || !term.IsTerminal(int(f.Fd())) {
			return nil, errors.New("a passphrase is needed and standard input is no terminal (--pwstdin and --pwfile read it from elsewhere)")
		}
		say(d, d.env.Err, "%s", prompt)
		pass, err := term.ReadPassword(int(f.Fd()))
		say(d, d.env.Err, "\n")
		return pass, err
	}, nil
}

// passphraseFrom gives one line at each call.
func passphraseFrom(r io.Reader, name string) func(string) ([]byte, error) {
	in := bufio.NewReader(r)
	return func(string) ([]byte, error) {
		line, err := in.ReadBytes('\n')
		if len(line) == 0 && err != nil {
			return nil, fmt.Errorf("no passphrase in %s: %w", name, err)
		}
		return bytes.TrimRight(line, "\r\n"), nil
	}
}

// readPassphraseFile reads a file of the user's own, or a descriptor, of which
// the modes say nothing.
func readPassphraseFile(d *deps, path string) ([]byte, error) {
	if !strings.HasPrefix(path, "/dev/fd/") {
		return credential.ReadSecret(credentialEnv(d), path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, 4096))
}
