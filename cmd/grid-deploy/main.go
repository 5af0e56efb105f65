// Command grid-deploy fetches and unpacks environments into a node's cache; grid-launch runs it for those that are not there.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"gridbroker/environment"
	"gridbroker/environment/layers"
	"gridbroker/environment/registry"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(environment.Deploy(ctx, os.Args[1:], registry.Client{}.Blobs, layers.Codec{}, os.Stderr))
}
