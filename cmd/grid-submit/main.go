// Command grid-submit is "grid submit" for pipelines that expect that name.
package main

import (
	"os"

	"gridbroker/cmd/cli"
)

func main() {
	ctx, stop := cli.Signals(os.Exit)
	code := cli.Main(ctx, cli.OSEnv(), append([]string{"submit"}, os.Args[1:]...))
	stop()
	os.Exit(code)
}
