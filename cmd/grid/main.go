// Command grid is a resource broker for people, pipelines and site admins.
package main

import (
	"fmt"
	"io"
	"log"
	"os"

	"gridbroker/cmd/cli"
)

func main() {
	log.SetOutput(io.Discard) // where Go's HTTP client shows what servers say that nobody asked for, as it is
	collectLate()
	ctx, stop := cli.Signals(func(code int) {
		fmt.Fprintln(os.Stderr, cli.EndedAtOnce(os.Args[1:]))
		os.Exit(code)
	})
	env := cli.OSEnv()
	env.Release = stop
	code := cli.Main(ctx, env, os.Args[1:])
	stop()
	os.Exit(code)
}
