package adl

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"gridbroker/jdl/classad"
	"gridbroker/testdata/testbed"
)

// attributes reads descriptions and gives their records, an attribute a line.
func attributes(src string) ([]string, error) {
	ads, err := Read("t.adl", []byte(src), func(*classad.Diagnostic) {})
	var out []string
	for _, ad := range ads {
		for _, a := range ad.Attrs() {
			out = append(out, a.Name+" = "+classad.Unparse(a.Expr))
		}
	}
	return out, err
}

func described(resources string) string {
	return "<ActivityDescription><Application><Executable><Path>/bin/ls</Path></Executable></Application><Resources>" + resources + "</Resources></ActivityDescription>"
}

// What elements become: sizes are rounded up, numbers that stand for nothing are
// nothing, and no number is another one because it is large.
func TestReadResources(t *testing.T) {
	for _, c := range []struct {
		src  string
		want []string // lines; one that begins with - is the name of an attribute that must not be there
	}{
		{"<IndividualPhysicalMemory>1</IndividualPhysicalMemory>", []string{"Memory = 1"}},
		{"<IndividualPhysicalMemory>1048576</IndividualPhysicalMemory>", []string{"Memory = 1"}},
		{"<IndividualPhysicalMemory>1048577</IndividualPhysicalMemory>", []string{"Memory = 2"}},
		{"<IndividualPhysicalMemory>9223372036854775807</IndividualPhysicalMemory>", []string{"Memory = 8796093022208"}},
		{"<IndividualPhysicalMemory>-1</IndividualPhysicalMemory>", []string{"-Memory"}},
		{"<DiskSpaceRequirement> 1025 </DiskSpaceRequirement>", []string{"Disk = 2"}},
		{"<DiskSpaceRequirement>0</DiskSpaceRequirement>", []string{"-Disk"}},
		{"<SlotRequirement><NumberOfSlots>1</NumberOfSlots></SlotRequirement>", []string{"-CPUNumber", "-SMPGranularity", "-WholeNodes"}},
		{"<SlotRequirement><NumberOfSlots>8</NumberOfSlots><SlotsPerHost>4</SlotsPerHost><ExclusiveExecution>true</ExclusiveExecution></SlotRequirement>",
			[]string{"CPUNumber = 8", "SMPGranularity = 4", "WholeNodes = true"}},
		{"<SlotRequirement><NumberOfSlots>4</NumberOfSlots></SlotRequirement><TotalCPUTime>400</TotalCPUTime>", []string{"CPUTime = 100"}},
		{"<TotalCPUTime>400</TotalCPUTime><SlotRequirement><NumberOfSlots>4</NumberOfSlots></SlotRequirement>", []string{"CPUTime = 100"}},
		{"<TotalCPUTime>400</TotalCPUTime><SlotRequirement><NumberOfSlots>-4</NumberOfSlots></SlotRequirement>", []string{"CPUTime = 400", "-CPUNumber"}},
		{"<IndividualCPUTime>7</IndividualCPUTime><TotalCPUTime>400</TotalCPUTime>", []string{"CPUTime = 7"}},
		{"<WallTime>3600</WallTime><QueueName> long </QueueName>", []string{"WallTime = 3600", `Queue = "long"`}},
		{"<RuntimeEnvironment><Name>APPS/X</Name><Version>1.2</Version></RuntimeEnvironment>", []string{`RunTimeEnvironment = {"APPS/X-1.2"}`}},
		{`<RuntimeEnvironment><Name>APPS/X</Name><Version require="eq">1.2</Version></RuntimeEnvironment>`, []string{`RunTimeEnvironment = {"APPS/X-1.2"}`}},
		{`<RuntimeEnvironment><Name>APPS/X</Name></RuntimeEnvironment><RuntimeEnvironment><Name>B</Name></RuntimeEnvironment>`, []string{`RunTimeEnvironment = {"APPS/X", "B"}`}},
	} {
		got, err := attributes(described(c.src))
		if err != nil {
			t.Errorf("%s: %v", c.src, err)
		}
		for _, want := range c.want {
			name, absent := strings.CutPrefix(want, "-")
			there := slices.ContainsFunc(got, func(line string) bool {
				return strings.EqualFold(strings.ReplaceAll(line, " ", ""), strings.ReplaceAll(want, " ", "")) || absent && strings.HasPrefix(line, name+" =")
			})
			if there == absent {
				t.Errorf("%s: %q in %q: %v", c.src, name, got, there)
			}
		}
	}
}

// What is no description is an error with a place, whatever is wrong with it.
func TestReadErrors(t *testing.T) {
	for src, want := range map[string]string{
		"":                          "no ActivityDescription",
		"<ActivityDescriptions/>":   "no ActivityDescription",
		"text":                      "no ActivityDescription",
		"<a/>":                      "<a> is not an ActivityDescription",
		"<ActivityDescription>":     "unexpected EOF",
		"<ActivityDescription></a>": "closed by",
		"<ActivityDescription/><x":  "",
		`<?xml version="1.0" encoding="KOI8-R"?><ActivityDescription/>`:                                                                              "KOI8-R",
		`<!DOCTYPE a [<!ENTITY b "c">]><ActivityDescription><ActivityIdentification><Name>&b;</Name></ActivityIdentification></ActivityDescription>`: "invalid character entity",
		described("<WallTime>9223372036854775808</WallTime>"):                                                                                        "is no whole number",
		described("<WallTime>1e3</WallTime>"):                                                                                                        `"1e3" is no whole number`,
		described("<SlotRequirement><NumberOfSlots>two</NumberOfSlots></SlotRequirement>"):                                                           `"two" is no whole number`,
		described("<SlotRequirement><ExclusiveExecution>maybe</ExclusiveExecution></SlotRequirement>"):                                               `"maybe" is neither true nor false`,
		described(strings.Repeat("<a>", 100_000)):                                                                                                    "",
		strings.Repeat("<ActivityDescription>", 100_000):                                                                                             "",
	} {
		_, err := Read("t.adl", []byte(src), func(*classad.Diagnostic) {})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "t.adl:") {
			t.Errorf("%.80s: %v, want %q", src, err, want)
		}
	}
}

// Each of several descriptions has its own places: a warning stands where its
// element does.
func TestWarningsOfSeveral(t *testing.T) {
	var lines []int
	_, err := Read("t.adl", []byte("<ActivityDescriptions>\n"+described("")+"\n"+described("<Coprocessor>x</Coprocessor>")+"\n"+described("")+
		"\n"+described("\n<Coprocessor>y</Coprocessor>")+"</ActivityDescriptions>"), func(d *classad.Diagnostic) { lines = append(lines, d.Pos.Line) })
	if err != nil || !slices.Equal(lines, []int{3, 6}) {
		t.Errorf("warnings at lines %v, %v", lines, err)
	}
}

// TestOptionalIsTold: an environment that is only wished for is demanded here.
func TestOptionalIsTold(t *testing.T) {
	var told []string
	_, err := Read("t.adl", []byte(described("<RuntimeEnvironment><Name>A</Name></RuntimeEnvironment>\n<RuntimeEnvironment optional=\"true\"><Name>B</Name></RuntimeEnvironment>")),
		func(d *classad.Diagnostic) { told = append(told, d.Error()) })
	if err != nil || len(told) != 1 || !strings.Contains(told[0], ":2:1: optional is not used: a resource without B is not taken") {
		t.Errorf("%q, %v", told, err)
	}
}

func TestCeil(t *testing.T) {
	for n, want := range map[int64]int64{0: 0, 1: 1, 1023: 1, 1024: 1, 1025: 2, -1: 0, math.MinInt64: 0, math.MaxInt64: math.MaxInt64>>10 + 1} {
		if got := ceil(n, 10); got != want {
			t.Errorf("%d: %d, want %d", n, got, want)
		}
	}
}

// TestLatin1: an old editor's encoding is read, an unknown one is named.
func TestLatin1(t *testing.T) {
	const text = `<ActivityDescription><Application><Executable><Path>/bin/echo</Path><Argument>caf` + "\xe9" + `</Argument></Executable></Application></ActivityDescription>`
	ads, err := Read("a.adl", []byte(`<?xml version="1.0" encoding="ISO-8859-1"?>`+text), func(*classad.Diagnostic) {})
	if err != nil {
		t.Fatal(err)
	}
	if args, _ := ads[0].EvalAttr("Arguments", nil).Str(); args != "café" {
		t.Errorf("the argument is %q", args)
	}
	_, err = Read("a.adl", []byte(`<?xml version="1.0" encoding="EBCDIC"?>`+text), func(*classad.Diagnostic) {})
	if err == nil || !strings.Contains(err.Error(), "the encoding EBCDIC is not supported: write UTF-8") {
		t.Errorf("EBCDIC: %v", err)
	}
}

// One tag, or one text, without end is an error before it is read; many warnings are not looked for
// in the text one by one.
func TestReadLongTags(t *testing.T) {
	testbed.Computes(t)
	var attributes, descriptions strings.Builder
	for i := range 1_000_000 {
		fmt.Fprintf(&attributes, ` a%d="1"`, i)
	}
	for range 20_000 {
		descriptions.WriteString("<ActivityDescription><Application><Executable><Path>/a</Path></Executable><ExpirationTime>x</ExpirationTime></Application></ActivityDescription>\n")
	}
	for _, c := range []struct{ text, want string }{
		{"<ActivityDescription" + attributes.String() + "></ActivityDescription>", "longer than 1 MiB"},
		{"<ActivityDescription><ActivityIdentification><Name>" + strings.Repeat("x", 20<<20), "longer than 1 MiB"},
		{"<ActivityDescriptions>" + descriptions.String() + "</ActivityDescriptions>", ""},
	} {
		warnings := 0
		testbed.Within(t, 10*time.Second, 200<<20, func() {
			_, err := Read("x.adl", []byte(c.text), func(*classad.Diagnostic) { warnings++ })
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%.60s: %.300v, want %q", c.text, err, c.want)
			}
		})
		if warnings > 201 {
			t.Errorf("%.60s: %d warnings", c.text, warnings)
		}
	}
}

// A text that nests or grows without end is an error.
func TestReadBombs(t *testing.T) {
	testbed.Computes(t)
	for _, text := range []string{
		"<ActivityDescription>" + strings.Repeat("<a>", 1<<20),
		"<ActivityDescriptions>" + strings.Repeat("<ActivityDescriptions>", 1<<16),
		"<ActivityDescription>" + strings.Repeat("<a/>", maxElements),
	} {
		testbed.Within(t, 10*time.Second, 300<<20, func() {
			if _, err := Read("x.adl", []byte(text), func(*classad.Diagnostic) {}); err == nil || !strings.Contains(err.Error(), "within each other") {
				t.Errorf("%.60s: %v", text, err)
			}
		})
	}
}
