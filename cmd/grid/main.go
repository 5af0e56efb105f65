// Command grid is a resource broker for people, pipelines and site admins.
package main

import (
	"os"

	"gridbroker/cmd/cli"
)

func main() {
	collectLate()
	ctx, stop := cli.Signals(os.Exit)
	code := cli.Main(ctx, cli.OSEnv(), os.Args[1:])
	stop()
	os.Exit(code)
}
