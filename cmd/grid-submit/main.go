// Command grid-submit is "grid submit" for pipelines that expect that name.
package main

import (
	"os"
	"slices"

	"gridbroker/cmd/cli"
)

func main() {
	args := append([]string{"submit"}, os.Args[1:]...)
	if slices.Equal(os.Args[1:], []string{"--version"}) {
		args = os.Args[1:] // which is the program's
	}
	ctx, stop := cli.Signals(os.Exit)
	code := cli.Main(ctx, cli.OSEnv(), args)
	stop()
	os.Exit(code)
}
