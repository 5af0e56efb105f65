package jdl

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// TestFindings is what users see of descriptions that are wrong or doubtful,
// attribute by attribute: how bad, its code, the column, the words and the
// advice; "" where nothing is to be said.
func TestFindings(t *testing.T) {
	files := fstest.MapFS{"job/a": {Data: []byte("x")}, "job/b": {Data: []byte("x")}, "job/dir/a": {Data: []byte("y")}, "job/dir/.hidden": {Data: []byte("y")}}
	for _, c := range []struct{ text, want string }{
		{`InputData = "http://h/x"; DataAccessProtocol = "gsiftp";`, `error logical-name 37: InputData: "http://h/x" does not begin with lfn:, guid:, si-lfn: or si-guid:`},
		{`InputData = "LFN:/grid/x"; DataAccessProtocol = "gsiftp";`, `error logical-name 37: InputData: the prefix of LFN:/grid/x must be in lower case (write lfn:/grid/x)`},
		{`InputData = "lfn:/grid/x"; DataRequirements = { [ InputData = {"lfn:/a"}; DataCatalogType = "DLI"; ] };`, `error conflict 37: InputData and DataRequirements exclude each other (keep one of them)`},
		{`DataRequirements = { [ InputData = {"lfn:/a"}; ] };`, `error missing 1: input data needs DataAccessProtocol (for example DataAccessProtocol = {"gsiftp"}) | error missing 46: DataRequirements: a record without DataCatalogType`},
		{`DataRequirements = "lfn:/a";`, `error missing 1: input data needs DataAccessProtocol (for example DataAccessProtocol = {"gsiftp"}) | error type 44: DataRequirements must be a record or a list of records, and this is the string "lfn:/a"`},
		{`OutputData = "x";`, `warning no-effect 38: OutputData is not sent to storage: its files come back with the output`},
		{`OutputData = { [ StorageElement = "se"; ] };`, `error missing 38: OutputData: a record without OutputFile`},
		{`OutputData = { [ OutputFile = "x"; LogicalFileName = "/grid/x"; ] };`, `error logical-name 38: OutputData: LogicalFileName "/grid/x" does not begin with lfn:`},
		{`HostNumber = 2; SMPGranularity = 2;`, `error conflict 38: HostNumber and SMPGranularity exclude each other unless WholeNodes is true`},
		{`CPUNumber = 2; HostNumber = 4;`, `warning hosts 53: HostNumber 4 is more than CPUNumber 2`},
		{`CPUNumber = 99999999;`, ``},
		{`CPUNumber = 0;`, `error range 37: CPUNumber is 0, less than 1`},
		{`CPUNumber = -1;`, `error range 37: CPUNumber is -1, less than 1`},
		{`CPUNumber = 1.5;`, `error type 37: CPUNumber must be an integer`},
		{`CPUNumber = "2";`, `error type 37: CPUNumber must be an integer, and this is the string "2" (remove the quotes: 2)`},
		{`WallTime = "soon";`, `error type 36: WallTime must be a number of seconds or a string such as "1h30m", and this is the string "soon"`},
		{`WallTime = -5;`, `error range 36: WallTime is out of range`},
		{`WallTime = { 1 };`, `error type 36: WallTime must be a number of seconds or a string such as "1h30m", and this is a list with the number 1`},
		{`WallTime = "2 fortnights";`, `error type 36: WallTime must be a number of seconds or a string such as "1h30m", and this is the string "2 fortnights"`},
		{`WallTime = "";`, `error type 36: WallTime must be a number of seconds or a string such as "1h30m", and this is the string ""`},
		{`Memory = "much";`, `error type 34: Memory must be a number of MB or a string such as "4 GB", and this is the string "much"`},
		{`Memory = -1;`, `error range 34: Memory is out of range`},
		{`Memory = [ a = 1; ];`, `error type 34: Memory must be a number of MB or a string such as "4 GB", and this is a record`},
		{`CheckpointSteps = 3;`, `warning unknown-attribute 25: CheckpointSteps is not a known attribute (nothing in this file uses it)`},
		{`PrologueArguments = "x";`, `error missing 45: PrologueArguments without Prologue`},
		{`Prologue = "";`, `error missing 36: Prologue is empty`},
		{`Executable = "";`, `error missing 14: Executable is empty`},
		{`Executable = "a*";`, `error wildcard 14: Executable "a*": wildcards are not allowed here`},
		{`Executable = 5;`, `error type 14: Executable must be a string, and this is the number 5`},
		{`Executable = "/bin/" + "true";`, `error type 22: Executable must be a string, and this is ERROR (+ adds numbers; texts are joined by strcat("/bin/", "true"))`},
		{`Arguments = "a" + 1 + "c";`, `error type 45: Arguments must be a string, and this is ERROR (+ adds numbers; texts are joined by strcat("a", 1, "c"))`},
		{`Arguments = "a" + "` + strings.Repeat("b", 1000) + `";`, `error type 41: Arguments must be a string, and this is ERROR (+ adds numbers; texts are joined by strcat(...))`},
		{`Executable = "a\nb";`, `error bad-name 14: Executable "a\nb" holds a control character`},
		{`ExecutableFiles = {"nothing"};`, `error not-in-sandbox 43: ExecutableFiles: "nothing" is not in the InputSandbox`},
		{`StdOutput = "d/o"; StdError = "e/o";`, `error same-name 55: StdError "e/o" and StdOutput "d/o" have one name but are two files`},
		{`StdOutput = "/dev/null";`, ``},
		{`StdOutput = "o*";`, `error wildcard 37: StdOutput "o*": wildcards are not allowed here`},
		{`StdOutput = "/tmp/o";`, `error bad-name 37: StdOutput "/tmp/o" is an absolute path (only files of the job's own directory can be brought back)`},
		{`StdOutput = "../o";`, `error bad-name 37: StdOutput "../o" leads out of the job's directory`},
		{`Prologue = "/$SW/bin/begin";`, `warning relative-path 36: Prologue "/$SW/bin/begin": nothing replaces variables in it (let a shell do it: Prologue = "/bin/sh"; PrologueArguments = "-c '...'")`},
		{`StdInput = "in*";`, `error wildcard 36: StdInput "in*": wildcards are not allowed here`},
		{`StdInput = "nothing";`, `error not-in-sandbox 36: StdInput "nothing" is not in the InputSandbox (add it to the InputSandbox)`},
		{`StdInput = "../in";`, `error not-in-sandbox 36: StdInput "../in" is not in the InputSandbox (add it to the InputSandbox)`},
		{`Environment = "A";`, `error environment 39: Environment: "A" is not NAME=value`},
		{`Environment = {"=1"};`, `error environment 39: Environment: "" is no name of a variable`},
		{`Environment = {"A B=1"};`, `error environment 39: Environment: "A B" is no name of a variable`},
		{`Environment = 5;`, `error type 39: Environment must be a string or a list of strings, and this is the number 5`},
		{`Environment = {"A=1", "A=2"};`, ``},
		{`Requirements = "other.x == 1";`, `error type 40: Requirements is a string, not an expression (remove the quotes around it) | warning not-boolean 40: this clause is the string "other.x == 1", not a boolean (no resource can match)`},
		{`CERequirements = "other.GlueCEPolicyMaxCPUTime >= 1440";`, ``},
		{`CERequirements = "smpgranularity == 2";`, `warning not-used 42: CERequirements: smpgranularity is a word for CREAM's batch system: the clause is not used`},
		{`CERequirements = "5";`, `warning not-boolean 42: this clause is the number 5, not a boolean (no resource can match)`},
		{`Requirements = 5;`, `warning not-boolean 40: this clause is the number 5, not a boolean (no resource can match)`},
		{`Requirements = other.x ==;`, `error syntax 50: unexpected ";" where a value should be`},
		{`Rank = "x";`, `error type 32: Rank is a string, not an expression (remove the quotes around it)`},
		{`ShortDeadlineJob = "yes";`, `error type 44: ShortDeadlineJob must be a boolean, and this is the string "yes"`},
		{`Type = "group";`, `error type 32: Type "group" is not known (it is "job", "collection" or "dag")`},
		{`Type = 5;`, `error type 32: Type must be a string, and this is the number 5`},
		{`JobType = "mpich";`, `error missing 35: an mpich job needs CPUNumber (CPUNumber = 4;)`},
		{`JobType = "interactive";`, `error interactive 35: interactive jobs cannot be run: nothing connects a terminal to the node (a batch job reads its input from a file: StdInput)`},
		{`JobType = {"normal", "partitionable"};`, `error deprecated 35: partitionable jobs no longer exist`},
		{`JobType = "checkpointable";`, `error deprecated 35: checkpointable jobs no longer exist`},
		{`JobType = "unheard";`, `error type 35: JobType "unheard" is not known (in DIRAC's JDL it may be any word: --dialect dirac)`},
		{`ListenerPort = 44000;`, `warning no-effect 25: ListenerPort is known, and has no effect here | error interactive 40: ListenerPort belongs to interactive jobs`},
		{`RetryOnExit = true;`, ``},
		{`RetryCount = -1;`, `error range 38: RetryCount is -1, less than 0`},
		{`RetryCount = 1e10;`, `warning retries 38: RetryCount 10000000000: no more than 10 are made, as by a gLite workload manager`},
		{`ShallowRetryCount = 100;`, `warning retries 45: ShallowRetryCount 100: no more than 10 are made, as by a gLite workload manager`},
		{`ExpiryTime = 100;`, `warning expired 38: ExpiryTime 100 is in the past (it counts seconds since 1970)`},
		{`ExpiryTime = "tomorrow";`, `error type 38: ExpiryTime must be an integer, and this is the string "tomorrow"`},
		{`UserTags = "x";`, `error type 36: UserTags must be a record, and this is the string "x"`},
		{`UserTags = [ a = 1; ];`, ``},
		{`InputSandbox = "";`, `warning empty-name 40: InputSandbox: an empty name is ignored`},
		{`InputSandbox = "nothing";`, `error no-file 40: InputSandbox: nothing does not exist (names are relative to /job)`},
		{`InputSandbox = "dri/a";`, `error no-file 40: InputSandbox: dri/a does not exist (names are relative to /job)`},
		{`InputSandbox = "DIR";`, `error no-file 40: InputSandbox: DIR does not exist (did you mean dir?)`},
		{`InputSandbox = "/job/DIR";`, `error no-file 40: InputSandbox: /job/DIR does not exist (did you mean /job/dir?)`},
		{`InputSandbox = "a/b";`, `error no-file 40: InputSandbox: a/b does not exist (names are relative to /job)`},
		{`InputSandbox = "$HOME/x";`, `error no-file 40: InputSandbox: $HOME/x does not exist (variables and ~ are not replaced in names)`},
		{`InputSandbox = "/nothing/x";`, `error no-file 40: InputSandbox: /nothing/x does not exist`},
		{`InputSandbox = "dir";`, ``},
		{`InputSandbox = "dir/*";`, ``},
		{`InputSandbox = "nothing*";`, `error no-file 40: InputSandbox: no file matches nothing* (names are relative to /job)`},
		{`InputSandbox = "[";`, `error glob 40: InputSandbox: the pattern "[" is malformed`},
		{`InputSandbox = {"a", "a"};`, `warning twice 46: InputSandbox: a is listed twice`},
		{`InputSandbox = {"a", "dir/a"};`, `error same-name 46: InputSandbox: /job/a and /job/dir/a would both be called a (give one of them another name with InputSandboxDestFileName)`},
		{`InputSandbox = {"a", 5};`, `error type 40: InputSandbox must be a string or a list of strings, and this is a list with the number 5`},
		{`InputSandbox = "SB:x";`, `error dirac-sandbox 40: InputSandbox: SB:x is a sandbox in DIRAC's own store, which only DIRAC can fetch (give the files themselves, or fetch it with DIRAC first)`},
		{`InputSandbox = "https://h/a b";`, `error uri 40: InputSandbox: the URL "https://h/a b" holds a blank (write https://h/a%20b)`},
		{`InputSandbox = "https://h/d/";`, `error uri 40: InputSandbox: the URL https://h/d/ ends in / and so names no file (name the file; InputSandboxDestFileName gives it a name in the job's directory)`},
		{`InputSandbox = "https://h/d/"; InputSandboxDestFileName = "index.html";`, ``},
		{`InputSandbox = "a"; InputSandboxBaseURI = "here";`, `error uri 67: InputSandboxBaseURI "here" is not protocol://address`},
		{`InputSandbox = {"a", "b"}; InputSandboxDestFileName = {"c"};`, `error count 79: InputSandboxDestFileName has 1 names for 2 files of the InputSandbox`},
		{`InputSandbox = {"a"}; InputSandboxDestFileName = {"../c"};`, `error bad-name 41: InputSandbox: the name "../c" leads out of the job's directory`},
		{`InputSandbox = {"a"}; InputSandboxDestFileName = {"/c"};`, `error bad-name 41: InputSandbox: the name "/c" is an absolute path`},
		{`InputSandbox = {"a"}; InputSandboxDestFileName = {"https://h/c"};`, `error bad-name 41: InputSandbox: the name "https://h/c" is a URL`},
		{`OutputSandbox = "";`, `warning empty-name 41: OutputSandbox: an empty name is ignored`},
		{`OutputSandbox = "/abs";`, `error bad-name 41: OutputSandbox: "/abs" is an absolute path (only files of the job's own directory can be brought back)`},
		{`OutputSandbox = "../up";`, `error bad-name 41: OutputSandbox: "../up" leads out of the job's directory`},
		{`OutputSandbox = ".";`, `error bad-name 41: OutputSandbox: "." leads out of the job's directory`},
		{`OutputSandbox = "https://h/x";`, `error bad-name 41: OutputSandbox: "https://h/x" is a URL (where files go is said by OutputSandboxDestURI)`},
		{`OutputSandbox = {"x", "x"};`, `warning twice 47: OutputSandbox: x is listed twice`},
		{`OutputSandbox = {"x", "d/x"};`, `error same-name 47: OutputSandbox: x and d/x have the same name`},
		{`OutputSandbox = {"*.log", "d/*.log"};`, ``},
		{`OutputSandbox = {"x"}; OutputSandboxDestURI = {"gsiftp://h/a", "gsiftp://h/b"};`, `error count 71: OutputSandboxDestURI has 2 entries for 1 files of the OutputSandbox`},
		{`OutputSandbox = {"x*"}; OutputSandboxDestURI = {"gsiftp://h/a"};`, `error bad-name 42: OutputSandbox: "x*" has wildcards, and a destination needs a name`},
		{`OutputSandbox = {"x"}; OutputSandboxDestURI = {"/home/a"};`, `warning uri 71: OutputSandboxDestURI "/home/a" is not protocol://address; the file is kept for grid output`},
		{`OutputSandbox = {"x"}; OutputSandboxDestURI = {"gsiftp://h/a"}; OutputSandboxBaseDestURI = "gsiftp://h";`, `error conflict 116: OutputSandboxDestURI and OutputSandboxBaseDestURI exclude each other (keep one of them)`},
		{`OutputSandbox = {"x"}; OutputSandboxBaseDestURI = "h";`, `error uri 75: OutputSandboxBaseDestURI "h" is not protocol://address`},
		{`Exekutable = "x";`, `warning unknown-attribute 25: Exekutable is not a known attribute (did you mean Executable?)`},
		{`executable = "/bin/b";`, ``},
		{`MyProxyServer = 5;`, `error type 41: MyProxyServer must be a string, and this is the number 5`},
		{`PerusalFileEnable = true;`, ``},
		{`NodesCollocation = true;`, ``},
		{`Dependencies = {};`, ``},
		{`Nodes = {};`, `error type 33: Nodes without a Type (Type = "collection"; or Type = "dag";)`},
	} {
		src := c.text
		if !strings.Contains(strings.ToLower(src), "executable =") {
			src = `Executable = "/bin/ls"; ` + src
		}
		var got []string
		for _, d := range Lint("j", []byte(src), WithDir("/job"), WithRoot(files), WithClock(func() time.Time { return time.Unix(1e9, 0) })) {
			s := fmt.Sprintf("%s %s %d: %s", d.Severity, d.Code, d.Pos.Col, d.Msg)
			if d.Hint != "" {
				s += " (" + d.Hint + ")"
			}
			got = append(got, s)
		}
		if text := strings.Join(got, " | "); text != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.text, text, c.want)
		}
	}
}

// TestDurations has the forms of a time, of which a bare number counts in the
// language's own unit.
func TestDurations(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90": 90 * time.Minute, "1.5": 90 * time.Second, "0": 0, " 5 ": 5 * time.Minute, "1h30m": 90 * time.Minute, "2 days 4 hours": 52 * time.Hour, "90 min": 90 * time.Minute,
		"1:30:00": 90 * time.Minute, "1:30": 90 * time.Minute, "0:00:05": 5 * time.Second, "PT1H30M": 90 * time.Minute, "pt1h30m": 90 * time.Minute, "P1DT1S": 24*time.Hour + time.Second,
		"P2W": 14 * 24 * time.Hour, "PT5M": 5 * time.Minute, "1 week, 1 day": 8 * 24 * time.Hour, "3600s": time.Hour, "1.5 H": 90 * time.Minute, "2Secs": 2 * time.Second,
	} {
		if got, ok := ParseDuration(text, time.Minute); !ok || got != want {
			t.Errorf("%q: %v %v, want %v", text, got, ok, want)
		}
	}
	for _, bad := range []string{"", " ", ",", "P", "PT", "P1M", "P1Y", "soon", "-5", "1h-30m", "h", "1:2:3:4", ":", "1:", "1:-2", "1:2x", "5 parsecs", "1..5h", "NaN", "Inf", "1e30", "101 years", "5300 w"} {
		if got, ok := ParseDuration(bad, time.Minute); ok {
			t.Errorf("%q is %v", bad, got)
		}
	}
}

// TestSizes has the forms of a size, in MB of 2^20 bytes; parts count as a whole one.
func TestSizes(t *testing.T) {
	for text, want := range map[string]int64{
		"4000": 4000, "4 GB": 4096, "4GiB": 4096, "2.5G": 2560, "512MiB": 512, "512 m": 512, "1024K": 1, "1025 kB": 2, "1 B": 1, "0": 0, "1T": 1 << 20, "1 PiB": 1 << 30, " 7 ": 7, "1.1": 2,
	} {
		if got, ok := ParseSize(text); !ok || got != want {
			t.Errorf("%q: %d %v, want %d", text, got, ok, want)
		}
	}
	for _, bad := range []string{"", "GB", "-1", "1 E", "1 Mbit", "1 2", "1.2.3", "much", "2000P", "NaN", "1e3e3"} {
		if got, ok := ParseSize(bad); ok {
			t.Errorf("%q is %d MB", bad, got)
		}
	}
}

// TestComputingElementsOwnServer: a destination at the computing element's own
// server means that the user fetches; one at a host of a similar name does not.
func TestComputingElementsOwnServer(t *testing.T) {
	for url, want := range map[string]string{
		"gsiftp://localhost": "", "gsiftp://localhost/": "", "gsiftp://localhost:2811/x": "", "https://localhost/x": "",
		"gsiftp://localhost.example.org/x": "gsiftp://localhost.example.org/x", "https://h/x?from=ftp://localhost": "https://h/x?from=ftp://localhost", "gsiftp://h/localhost": "gsiftp://h/localhost",
	} {
		j, err := ParseJob("j", []byte(`Executable = "/bin/ls"; OutputSandbox = "x"; OutputSandboxDestURI = "`+url+`";`))
		if err != nil {
			t.Fatal(err)
		}
		if got := j.OutputSandbox[0].DestURL; got != want {
			t.Errorf("%s: sent to %q, want %q", url, got, want)
		}
	}
}

// TestDestinationsThatAreDirectories: a destination that ends in / is the directory that the file goes into, by its own
// name; a directory goes to what is named.
func TestDestinationsThatAreDirectories(t *testing.T) {
	for _, c := range [][3]string{
		{"d/x.root", `OutputSandboxDestURI = "gsiftp://h/to/";`, "gsiftp://h/to/x.root"},
		{"d/x.root", `OutputSandboxDestURI = "gsiftp://h/to/y";`, "gsiftp://h/to/y"},
		{"plots/", `OutputSandboxDestURI = "gsiftp://h/to/";`, "gsiftp://h/to/"},
		{"x.root", `OutputSandboxDestURI = "gsiftp://localhost/";`, ""},
		{"d/x.root", `OutputSandboxBaseDestURI = "gsiftp://h/to/";`, "gsiftp://h/to/x.root"},
		{"d/x.root", `OutputSandboxBaseDestURI = "gsiftp://h/to";`, "gsiftp://h/to/x.root"},
	} {
		j, err := ParseJob("j", []byte(`Executable = "/bin/ls"; OutputSandbox = "`+c[0]+`"; `+c[1]))
		if err != nil {
			t.Fatal(err)
		}
		if got := j.OutputSandbox[0].DestURL; got != c[2] {
			t.Errorf("%s, %s: sent to %q, want %q", c[0], c[1], got, c[2])
		}
	}
}
