// Command hog, as a job, hides its memory from who may not trace it, takes 60 MB and waits to be found.
package main

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

func main() {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	mine := make([]byte, 60<<20)
	for i := range mine {
		mine[i] = byte(i)
	}
	time.Sleep(20 * time.Second)
	fmt.Println("held", mine[len(mine)-1])
}
