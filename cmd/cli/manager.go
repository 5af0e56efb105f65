package cli

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"gridbroker/credential"
	"gridbroker/forecast/managers"
	"gridbroker/forecast/managers/daemon"
	"gridbroker/foreign"
)

// managerTLS are the flags of certificates that managers and brokers share.
type managerTLS struct{ cert, key, ca string }

func (f *managerTLS) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.cert, "cert", "", "own certificate in `FILE`, for both ends of a connection")
	fl.StringVar(&f.key, "key", "", "and its key in `FILE`")
	fl.StringVar(&f.ca, "ca", "", "authorities whose certificates others must show: a `FILE`, beside which their revocation lists may be (HASH.r0), or a directory as grids have them")
}

// read reads the certificates.
func (f *managerTLS) read(d *deps) (own func() *tls.Certificate, authorities func() daemon.Authorities, err error) {
	if f.cert == "" || f.key == "" || f.ca == "" {
		return nil, nil, usageError(errors.New("managers and brokers know each other by certificates: give --cert, --key and --ca"))
	}
	if own, err = hostPair(d, f.cert, f.key); err != nil {
		return nil, nil, err
	}
	bundle, err := credential.BundleFile(credentialEnv(d), abs(d, f.ca), readNamed, func(err error) { sayErr(d, "%v", err) })
	return own, func() daemon.Authorities { return bundle() }, err
}

// config reads the certificates for links and questions.
func (f *managerTLS) config(d *deps) (*tls.Config, error) {
	own, authorities, err := f.read(d)
	if err != nil {
		return nil, err
	}
	return daemon.TLS(own, authorities), nil
}

// managerCmd holds the tree of managers.
func managerCmd(d *deps) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "manager",
		Short: "The tree of managers: systems that share their free resources without a centre",
	}
	cmd.AddCommand(managerServeCmd(d), managerShowCmd(d), managerRunCmd(d))
	return cmd
}

func managerShowCmd(d *deps) *cobra.Command {
	var f managerShowOptions
	cmd := &cobra.Command{
		Use:   "show URL",
		Short: "Show a manager's place in the tree, its tables and its jobs",
		Long: `Show prints what a manager tells of itself: its parent, its resources, its jobs, and
for each neighbour what is free in that direction and what it was told.

--tree asks its neighbours, too, and theirs, and prints the whole tree: what each
system has free, what waits and runs with each manager, and what each believes to
be free above and below it. --job also tells with which manager that job is now, and
its way: what the managers did with it within the last hour.
--html also writes all of that as a page, with the tree drawn.`,
		Example: `  grid manager show https://m1.example.org:7700 --cert me.pem --key me.key --ca grid.pem
  grid manager show https://m1.example.org:7700 --tree --job 4711 --cert me.pem --key me.key --ca grid.pem
  grid manager show https://m1.example.org:7700 --tree --html tree.html --cert me.pem --key me.key --ca grid.pem`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runManagerShow(cmd.Context(), d, f, args[0])
		},
	}
	f.register(cmd)
	cmd.Flags().BoolVar(&f.tree, "tree", false, "show the whole tree")
	cmd.Flags().StringVar(&f.job, "job", "", "with --tree: tell where job `ID` is")
	cmd.Flags().StringVar(&f.broker, "broker", "", "with --job: of those of that name, the one of the broker at `URL`")
	cmd.Flags().StringVar(&f.html, "html", "", "with --tree: write a page with the drawn tree, its tables and where the job is to `FILE`")
	return cmd
}

// managerShowOptions are those of grid manager show.
type managerShowOptions struct {
	managerTLS
	tree              bool
	job, broker, html string
}

func runManagerShow(ctx context.Context, d *deps, f managerShowOptions, name string) error {
	if err := checkManagerURL("URL", name); err != nil {
		return usageError(err)
	}
	if (f.job != "" || f.html != "") && !f.tree {
		return usageError(errors.New("--job and --html are for --tree"))
	}
	if f.broker != "" && f.job == "" {
		return usageError(errors.New("--broker is for --job"))
	}
	if err := writable(d, f.html); err != nil {
		return err
	}
	cfg, err := f.config(d)
	if err != nil {
		return err
	}
	if f.tree {
		return showTree(ctx, d, daemon.Reader(cfg), name, f)
	}
	s, err := (&managerReader{client: daemon.Reader(cfg)}).state(ctx, name)
	if err != nil {
		return err
	}
	if d.json {
		return printJSON(d, "manager.show", *s)
	}
	return printManager(d, s)
}

func showTree(ctx context.Context, d *deps, client *http.Client, name string, f managerShowOptions) error {
	reader := &managerReader{client: client}
	t, err := readTree(ctx, reader, name)
	if err != nil {
		return err
	}
	if f.job != "" {
		t.find(f.job, f.broker)
		if err := t.readWay(ctx, reader, f.broker); err != nil {
			return err
		}
	}
	if f.html != "" {
		if err := writeTo(d, f.html, func(out io.Writer) error { return t.writeHTML(d.env.Now(), out) }); err != nil {
			return err
		}
	}
	if d.json {
		return cmp.Or(printJSON(d, "manager.tree", *t), t.missing())
	}
	return printManagers(d, t)
}

// printManager prints what a manager tells of itself.
func printManager(d *deps, s *daemon.State) error {
	free := "no system of its own"
	if s.Total != (managers.Resources{}) {
		free = fmt.Sprintf("%s of %s", s.Free, s.Total)
	}
	waiting, running := s.Jobs()
	sayOut(d, "%s\nparent: %s\nfree: %s\nwaiting: %s\nrunning: %s",
		s.Name, orDash(s.Parent), free, someJobs(s, waiting), someJobs(s, running))
	var rows [][]string
	for _, r := range s.Rows {
		state := "down"
		if r.Up {
			state = "up"
		}
		rows = append(rows, []string{r.Neighbour, r.Role, state, rooms(r.Rooms), rooms(r.Told)})
	}
	return table(d, columns("neighbour", "is", "link", "free there", "was told"), rows)
}

// someJobs says how many of a manager's jobs these are, and names the first; whose they are where it has several brokers'.
func someJobs(s *daemon.State, jobs []managers.Key) string {
	const named = 3
	text := fmt.Sprint(len(jobs))
	for i, job := range jobs[:min(len(jobs), named)] {
		text += [...]string{": ", ", ", ", "}[i] + foreign.Text(string(job.ID))
		if len(s.Brokers) > 1 {
			text += " of " + orDash(foreign.Text(job.Broker))
		}
	}
	if len(jobs) > named {
		text += ", ..."
	}
	return text
}

// rooms are amounts that are free somewhere.
func rooms(s managers.Set) string {
	if len(s) == 0 {
		return "-"
	}
	var list []string
	for _, r := range s[max(0, len(s)-maxRooms):] {
		list = append(list, r.String())
	}
	if more := len(s) - len(list); more > 0 {
		list = append([]string{fmt.Sprintf("%d smaller ones", more)}, list...)
	}
	return strings.Join(list, "; ")
}

// maxRooms is of how many amounts, the largest, a table has all.
const maxRooms = 100

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// checkManagerURL wants https://host:port and nothing behind it.
func checkManagerURL(what, name string) error {
	u, err := url.Parse(name)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.Host != strings.TrimPrefix(name, "https://") {
		return fmt.Errorf("%s %q: want https://HOST:PORT", what, name)
	}
	return nil
}

// listenAt is where a manager or a broker listens: at the host and port of its name, if nothing else is said.
func listenAt(name, listen string) (string, error) {
	u, err := url.Parse(name)
	switch {
	case err != nil:
		return "", err
	case listen != "":
		return listen, nil
	case u.Port() == "":
		return "", fmt.Errorf("--name %s has no port: give https://HOST:PORT, or --listen HOST:PORT", name)
	}
	return u.Host, nil
}

// serveUntil serves until the context ends.
func serveUntil(ctx context.Context, d *deps, listen string, cfg *tls.Config, h http.Handler) (stop func(), err error) {
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return nil, err
	}
	s := daemon.Server(cfg, h)
	s.ErrorLog, s.ConnState = complaints(d), crowd(0)
	s.TLSConfig = briefly(s.TLSConfig, nil)
	go s.ServeTLS(brief{l}, "", "")
	after := context.AfterFunc(ctx, func() { s.Close() })
	return func() {
		after()
		s.Close()
	}, nil
}

// daemonLog writes what a daemon has to say to standard error.
func daemonLog(d *deps) *slog.Logger { return slog.New(slog.NewTextHandler(d.env.Err, nil)) }
