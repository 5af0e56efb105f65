package cli

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"
)

// Where daemons tell Prometheus their figures unless told otherwise: to this
// machine alone.
const (
	followMetrics  = "127.0.0.1:7791"
	managerMetrics = "127.0.0.1:7792"
)

// metricsFlag adds --metrics.
func metricsFlag(cmd *cobra.Command, to *string, def string) {
	cmd.Flags().StringVar(to, "metrics", def, "tell Prometheus figures at http://`HOST:PORT`/metrics; \"\": nowhere")
}

// serveMetrics serves figures at an address until the context ends. Where the
// address is the default one and taken, as by another user's daemon, that is only
// said.
func serveMetrics(ctx context.Context, d *deps, address, byDefault string, h http.Handler) error {
	if address == "" {
		return nil
	}
	l, err := net.Listen("tcp", address)
	if err != nil && address == byDefault {
		sayErr(d, "no figures for Prometheus: %v (--metrics HOST:PORT names another place, --metrics '' none)", err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("--metrics: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", h)
	s := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, MaxHeaderBytes: 1 << 16, ErrorLog: complaints(d), ConnState: crowd(0)}
	go s.Serve(l)
	context.AfterFunc(ctx, func() { s.Close() })
	return nil
}
