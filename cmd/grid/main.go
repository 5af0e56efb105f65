// Command grid is a resource broker for people, pipelines and site admins.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"gridbroker/cmd/cli"
)

func main() {
	collectLate()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := cli.Main(ctx, cli.OSEnv(), os.Args[1:])
	stop()
	os.Exit(code)
}
