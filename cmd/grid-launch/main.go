// Command grid-launch runs jobs in runtime environments on a node; see package environment.
package main

import (
	"os"

	"gridbroker/environment"
)

func main() {
	os.Exit(environment.Main(os.Args, os.Stdin, os.Stdout, os.Stderr))
}
