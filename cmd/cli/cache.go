package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gridbroker/credential"
	"gridbroker/readahead"
	"gridbroker/readahead/httpfile"
)

// cacheServeOptions are those of grid cache serve.
type cacheServeOptions struct {
	dir, listen      string
	origins          []string
	portion, quota   int64
	ahead, fetches   int
	token, cert, key string
	wait, recheck    time.Duration
}

func cacheCmd(d *deps) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cache",
		Short: "Share a read-ahead cache of remote files between the jobs of a site",
	}
	cmd.AddCommand(cacheServeCmd(d))
	return cmd
}

func cacheServeCmd(d *deps) *cobra.Command {
	var f cacheServeOptions
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve remote files through a read-ahead cache on disk",
		Long: `Serve answers GET and HEAD of /file?url=URL, with ranges, from a cache of
portions in a directory; what is not there is fetched by ranges, the next
portions ahead of their readers as long as that pays. Only files under the
origins given are served. The cache survives restarts and crashes; a directory
belongs to one process at a time. /stats tells what was hit and fetched.

Beyond this machine it listens only with a certificate and a token.`,
		Example: `  grid cache serve --dir /var/cache/grid --origin https://data.example.org/run2026/
  curl 'http://127.0.0.1:8470/file?url=https://data.example.org/run2026/events.root' -r 0-1023`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return runCacheServe(cmd.Context(), d, f) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.dir, "dir", "", "`DIR` of the cache")
	fl.StringVar(&f.listen, "listen", "127.0.0.1:8470", "listen at `HOST:PORT`")
	fl.StringArrayVar(&f.origins, "origin", nil, "serve files under this `URL`, which ends in /; may be repeated")
	fl.Int64Var(&f.portion, "portion", 256, "`KIB` of a portion")
	fl.Int64Var(&f.quota, "quota", 1024, "`MIB` of all portions")
	fl.IntVar(&f.ahead, "ahead", 1, "portions `N` to fetch ahead of a read; -1 for none")
	fl.IntVar(&f.fetches, "fetches", 4, "requests `N` at once to origins")
	fl.StringVar(&f.token, "token-file", "", "readers must show the bearer token in `FILE`")
	fl.StringVar(&f.cert, "cert", "", "serve HTTPS with the certificate in `FILE`")
	fl.StringVar(&f.key, "key", "", "and the key in `FILE`")
	lengthVar(fl, &f.wait, "timeout", time.Minute, "of a request to an origin")
	lengthVar(fl, &f.recheck, "recheck", time.Minute, "ask for a file's version again after this time")
	return cmd
}

func (f cacheServeOptions) check() error {
	host, _, err := net.SplitHostPort(f.listen)
	if err != nil {
		return fmt.Errorf("--listen %q: %w", f.listen, err)
	}
	if !credential.ThisMachine(host) && (f.token == "" || f.cert == "") {
		return fmt.Errorf("--listen %s: beyond this machine only with --token-file, --cert and --key", f.listen)
	}
	switch {
	case f.dir == "":
		return errors.New("no directory: give --dir DIR")
	case len(f.origins) == 0:
		return errors.New("no origin: give --origin URL")
	case (f.cert == "") != (f.key == ""):
		return errors.New("--cert and --key go together")
	case f.portion < 1 || f.portion > 1<<20 || f.quota < 1 || f.quota > 1<<30 || f.fetches < 1 || f.fetches > 1024 || f.ahead > 1024:
		return errors.New("--portion, --quota, --fetches or --ahead: beyond all bounds")
	}
	for _, o := range f.origins {
		u, err := url.Parse(o)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || !strings.HasSuffix(u.Path, "/") || u.RawQuery != "" {
			return fmt.Errorf("--origin %q: want an http or https URL whose path ends in /", o)
		}
	}
	return nil
}

// readersToken is what readers must show; "" where nothing.
func (f cacheServeOptions) readersToken(d *deps) (string, error) {
	if f.token == "" {
		return "", nil
	}
	token, err := secretText(d, abs(d, f.token))
	if err == nil && token == "" {
		err = usageError(fmt.Errorf("%s: no token in it", f.token))
	}
	return token, err
}

func runCacheServe(ctx context.Context, d *deps, f cacheServeOptions) error {
	if err := f.check(); err != nil {
		return usageError(err)
	}
	token, err := f.readersToken(d)
	if err != nil {
		return err
	}
	if err := ownedDir(d, abs(d, f.dir)); err != nil {
		return err
	}
	cache, err := readahead.Open(abs(d, f.dir), readahead.Options{
		Portion: f.portion << 10, Quota: f.quota << 20, Ahead: f.ahead, Fetches: f.fetches,
	})
	if err != nil {
		return err
	}
	defer cache.Close()
	secured, err := serverTLS(d, f.cert, f.key)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", f.listen)
	if err != nil {
		return err
	}
	files := &httpfile.Server{Cache: cache, Origins: f.origins, Token: token, Wait: f.wait, Recheck: f.recheck}
	files.Client = &http.Client{Transport: transport(d), CheckRedirect: files.Redirect}
	server := &http.Server{
		Handler:           perAddress(files),
		ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 1 << 16, ErrorLog: complaints(d),
		TLSConfig: secured,
	}
	serving(d, "cache serve", l.Addr().String(), fmt.Sprintf("serving %s at %s", strings.Join(f.origins, ", "), l.Addr()))
	return serveOn(ctx, server, l, addressAtOnce)
}
