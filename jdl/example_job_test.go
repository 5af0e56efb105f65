package jdl_test

import (
	"fmt"
	"testing/fstest"

	"gridbroker/jdl"
	"gridbroker/jdl/classad"
)

// A file system for sandboxes; without WithRoot it is this machine's.
var disk = fstest.MapFS{"home/ann/run.sh": {}, "home/ann/data/1.dat": {}, "home/ann/data/2.dat": {}}

func ExampleParseJob() {
	text := `
Executable   = "run.sh";
Arguments    = "--title \"two words\"";
InputSandbox = {"run.sh", "data/*.dat"};
WallTime     = "2h";
Requirements = other.GlueHostMainMemoryRAMSize >= 2000;
`
	job, err := jdl.ParseJob("/home/ann/job.jdl", []byte(text), jdl.WithRoot(disk))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range job.InputSandbox {
		fmt.Println(f.Source, f.Executable)
	}
	fmt.Println(job.Args, job.Demand.WallTime, job.Demand.Memory, "MB")
	fmt.Println(classad.Unparse(job.Requirements))
	// Output:
	// /home/ann/run.sh true
	// /home/ann/data/1.dat false
	// /home/ann/data/2.dat false
	// [--title two words] 2h0m0s 2000 MB
	// other.GlueHostMainMemoryRAMSize >= 2000 && other.GlueCEStateStatus == "Production"
}

func ExampleParseJob_mistake() {
	_, err := jdl.ParseJob("job.jdl", []byte(`Executable = "/bin/ls"; RetryCount = "3";`))
	fmt.Println(err)
	// Output:
	// job.jdl:1:38: RetryCount must be an integer, and this is the string "3" (remove the quotes: 3)
	//  | Executable = "/bin/ls"; RetryCount = "3";
	//  | .....................................^
}

// One text is two jobs to gLite, which counts up to a bound, and three to
// DIRAC, which counts jobs.
func ExampleParseJobs() {
	text := []byte(`JobType = "parametric"; Parameters = 3; ParameterStart = 1; ParameterStep = 1; Executable = "/bin/ls";`)
	for _, d := range []jdl.Dialect{jdl.GLite, jdl.DIRAC} {
		set, err := jdl.ParseJobs("job.jdl", text, jdl.WithDialect(d))
		if err != nil {
			fmt.Println(err)
			return
		}
		var values []string
		for _, job := range set.Jobs {
			values = append(values, job.Node)
		}
		fmt.Println(d, values)
	}
	// Output:
	// glite [1 2]
	// dirac [1 2 3]
}

// What is suspicious in a description, without running anything.
func ExampleLint_unit() {
	for _, d := range jdl.Lint("job.jdl", []byte(`Executable = "/bin/ls"; Requirements = other.GlueCEPolicyMaxCPUTime > 86400;`)) {
		fmt.Println(d.Severity, d.Code, d.Pos.Col, d.Msg)
	}
	// Output:
	// warning unit 71 GlueCEPolicyMaxCPUTime counts minutes: 86400 are 60 days
}

func ExampleSplitArgs() {
	words, err := jdl.SplitArgs(`-c 'a b' "say \"hi\"" \&`)
	fmt.Printf("%q %v\n", words, err)
	_, err = jdl.SplitArgs(`a > b`)
	fmt.Println(err)
	// Output:
	// ["-c" "a b" "say \"hi\"" "&"] <nil>
	// '>' stands outside quotes, and no shell reads the arguments
}

func ExampleJob_Text() {
	job, err := jdl.ParseJob("/home/ann/job.jdl", []byte(`Executable = "run.sh"; InputSandbox = "run.sh";`), jdl.WithRoot(disk))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(job.Text())
	again, err := jdl.LoadJob(job.Text())
	fmt.Println(again.Text() == job.Text(), err)
	// Output:
	// [
	//   Executable = "run.sh";
	//   InputSandbox = { "/home/ann/run.sh" };
	//   JobName = "run.sh";
	//   RetryCount = 3;
	//   ShallowRetryCount = 0;
	//   Requirements = other.GlueCEStateStatus == "Production";
	//   DefaultRank =  -other.GlueCEStateEstimatedResponseTime;
	// ]
	// true <nil>
}
