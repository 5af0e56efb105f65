package sbatch_test

import (
	"fmt"
	"strings"

	"gridbroker/jdl"
	"gridbroker/jdl/sbatch"
)

func ExampleWrite() {
	job, err := jdl.ParseJob("job.jdl", []byte(`Executable = "/bin/echo"; Arguments = "\"$(hostname)\""; CPUNumber = 2; Memory = 500;`))
	if err != nil {
		fmt.Println(err)
		return
	}
	script, err := sbatch.Write(job, sbatch.Options{Name: "demo"})
	fmt.Print(strings.TrimSpace(string(script)), "\n", err)
	// Output:
	// #!/bin/sh
	// #SBATCH --job-name=demo
	// #SBATCH --ntasks=2
	// #SBATCH --mem-per-cpu=500M
	//
	// '/bin/echo' '$(hostname)'
	// <nil>
}
