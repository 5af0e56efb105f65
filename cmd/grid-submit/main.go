// Command grid-submit is "grid submit" for pipelines that expect that name.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"gridbroker/cmd/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := cli.Main(ctx, cli.OSEnv(), append([]string{"submit"}, os.Args[1:]...))
	stop()
	os.Exit(code)
}
