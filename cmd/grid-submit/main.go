// Command grid-submit is "grid submit" for pipelines that expect that name.
package main

import (
	"io"
	"log"
	"os"
	"slices"

	"gridbroker/cmd/cli"
)

func main() {
	log.SetOutput(io.Discard) // where Go's HTTP client shows what servers say that nobody asked for, as it is
	args := append([]string{"submit"}, os.Args[1:]...)
	if slices.Equal(os.Args[1:], []string{"--version"}) {
		args = os.Args[1:] // which is the program's
	}
	ctx, stop := cli.Signals(os.Exit)
	code := cli.Main(ctx, cli.OSEnv(), args)
	stop()
	os.Exit(code)
}
