package xrsl_test

import (
	"fmt"

	"gridbroker/jdl"
	"gridbroker/jdl/xrsl"
)

func ExampleWrite() {
	job, err := jdl.ParseJob("job.jdl", []byte(`Executable = "/bin/echo"; Arguments = "hello"; StdOutput = "out"; WallTime = 600;`))
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := xrsl.Write(job, xrsl.Options{})
	fmt.Print(string(text), err)
	// Output:
	// &(executable = "/bin/echo")
	//  (arguments = "hello")
	//  (jobName = "echo")
	//  (stdout = "out")
	//  (outputFiles = ("out" ""))
	//  (wallTime = "10")
	// <nil>
}
