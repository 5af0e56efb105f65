// Command grid-deploy fetches and unpacks environments into a node's cache; grid-launch runs it for those that are not there.
package main

import (
	"context"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"

	"gridbroker/environment"
	"gridbroker/environment/layers"
	"gridbroker/environment/registry"
)

func main() {
	log.SetOutput(io.Discard) // where Go's HTTP client shows what servers say that nobody asked for, as it is
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(environment.Deploy(ctx, os.Args[1:], registry.Client{}.Blobs, layers.Codec{}, os.Stderr))
}
