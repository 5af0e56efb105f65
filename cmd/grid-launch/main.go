// Command grid-launch runs jobs in runtime environments on a node; see package environment.
package main

import (
	"os"
	"runtime"

	"gridbroker/environment"
)

func main() {
	if len(os.Args) < 2 || os.Args[1] != "init" { // which is told
		runtime.GOMAXPROCS(1) // it waits, mostly, and is started for every job
	}
	os.Exit(environment.Main(os.Args, os.Stdin, os.Stdout, os.Stderr))
}
