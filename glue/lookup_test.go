package glue

import (
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"gridbroker/jdl"
	"gridbroker/jdl/classad"
)

func lookupText(t *testing.T, r *Resource, name string) string {
	t.Helper()
	v, ok := r.Lookup(name)
	if !ok {
		return "undefined"
	}
	return show(v)
}

func show(v classad.Value) string {
	if s, ok := v.Str(); ok {
		return "s:" + s
	}
	if l, ok := v.List(); ok {
		out := "l:"
		for _, x := range l {
			out += show(x) + ","
		}
		return out
	}
	if b, ok := v.Bool(); ok {
		return map[bool]string{true: "true", false: "false"}[b]
	}
	if i, ok := v.Int(); ok {
		return "i:" + time.Duration(i).String()
	}
	f, _ := v.Number()
	return "r:" + time.Duration(f*1000).String()
}

func TestLookup(t *testing.T) {
	r := &Resource{
		CEID: "ce.example.org:443/nordugrid-slurm-grid-long", CE: "ce.example.org", Queue: "grid-long", LRMS: "slurm",
		Serving: Production, MaxWallTime: Some(2 * time.Hour), FreeSlots: Some[int64](7),
		Platform: "amd64", ConnectivityOut: Some(true), Access: []string{"VO:atlas"},
		RuntimeEnvironments: []string{"A-1"}, Benchmarks: map[string]float64{"specint2000": 2500, "hep-spec06": 10},
		Attrs: map[string][]string{"gluececapability": {"x"}, "gluesomeint": {"12"}, "gluesomeflag": {"TRUE"},
			"glueceinfoapplicationdir": {"12"}, "gluesesizetotal": {"large"}, "glue2computingmanagerhomogeneous": {"undefined"}},
	}
	for name, want := range map[string]string{
		"GlueCEUniqueID":                                "s:ce.example.org:443/nordugrid-slurm-grid-long",
		"gluecestatestatus":                             "s:Production",
		"GLUE2ComputingShareServingState":               "s:production",
		"GlueCEPolicyMaxWallClockTime":                  "i:120ns",
		"GLUE2ComputingShareMaxWallTime":                "i:7.2µs",
		"GlueCEPolicyMaxCPUTime":                        "undefined",
		"GlueCEStateFreeJobSlots":                       "i:7ns",
		"GlueCEInfoGatekeeperPort":                      "s:443",
		"GlueHostArchitecturePlatformType":              "s:x86_64",
		"GLUE2ExecutionEnvironmentPlatform":             "s:amd64",
		"GlueHostNetworkAdapterOutboundIP":              "true",
		"GlueHostNetworkAdapterInboundIP":               "undefined",
		"GlueCEAccessControlBaseRule":                   "l:s:VO:atlas,",
		"GlueHostApplicationSoftwareRunTimeEnvironment": "l:s:A-1,",
		"GlueHostBenchmarkSI00":                         "i:2.5µs",
		"GlueCECapability":                              "l:s:x,",
		"GlueSomeInt":                                   "i:12ns",
		"GlueSomeFlag":                                  "true",
		"GlueNoSuchThing":                               "undefined",
		"GlueCEInfoApplicationDir":                      "s:12",
		"GlueSESizeTotal":                               "undefined",
		"GLUE2ComputingManagerHomogeneous":              "undefined",
	} {
		if got := lookupText(t, r, name); got != want {
			t.Errorf("%s = %s, want %s", name, got, want)
		}
	}
}

func TestLookupAllocatesNothing(t *testing.T) {
	r := &Resource{FreeSlots: Some[int64](7), RuntimeEnvironments: []string{"A", "B"}}
	r.Seal()
	n := testing.AllocsPerRun(100, func() {
		r.Lookup("GlueCEStateFreeJobSlots")
		r.Lookup("GlueHostApplicationSoftwareRunTimeEnvironment")
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestNumbers(t *testing.T) {
	for _, c := range []struct {
		in    string
		count Opt[int64]
		wall  Opt[time.Duration] // of minutes
	}{
		{"12", Some[int64](12), Some(12 * time.Minute)},
		{"0", Some[int64](0), Opt[time.Duration]{}},
		{" 7 ", Some[int64](7), Some(7 * time.Minute)},
		{"2500.0", Some[int64](2500), Some(2500 * time.Minute)},
		{"999", Some[int64](999), Some(999 * time.Minute)},
		{"9999", Some[int64](9999), Opt[time.Duration]{}},
		{"444444", Opt[int64]{}, Opt[time.Duration]{}},
		{"999999999", Opt[int64]{}, Opt[time.Duration]{}},
		{"2147483647", Opt[int64]{}, Opt[time.Duration]{}},
		{"4294967295", Opt[int64]{}, Opt[time.Duration]{}},
		{"2146660842", Opt[int64]{}, Opt[time.Duration]{}},
		{"9223372036854775807", Opt[int64]{}, Opt[time.Duration]{}},
		{"-1", Opt[int64]{}, Opt[time.Duration]{}},
		{"", Opt[int64]{}, Opt[time.Duration]{}},
		{"many", Opt[int64]{}, Opt[time.Duration]{}},
	} {
		if got := count([]byte(c.in)); got != c.count {
			t.Errorf("count(%q) = %v, want %v", c.in, got, c.count)
		}
		if got := spanLimit([]byte(c.in), time.Minute); got != c.wall {
			t.Errorf("spanLimit(%q) = %v, want %v", c.in, got, c.wall)
		}
	}
}

// Every name of the language's table of GLUE answers with the type that the
// table gives it, from a field or from what was kept as published; and Lookup
// answers no name of the schemas that the table does not have.
func TestTypesOfTheSchema(t *testing.T) {
	text, err := os.ReadFile("../jdl/glue_names.txt")
	if err != nil {
		t.Fatal(err)
	}
	full := fullResource()
	full.Attrs = map[string][]string{}
	inSchema := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		name := strings.Fields(line)[0]
		inSchema[name] = true
		kind, isList, known := jdl.GLUEType(name)
		if !known {
			t.Errorf("%s: not known", name)
		}
		if _, field := Column(name); !field {
			full.Attrs[strings.ToLower(name)] = map[classad.Kind][]string{classad.Bool: {"TRUE"}, classad.Int: {"12"}, classad.String: {"12"}}[kind]
		}
		v, ok := full.Lookup(name)
		if isList {
			kind = classad.List
		}
		if !ok || v.Kind() != kind {
			t.Errorf("%s is %v %v, the schema says %v", name, v.Kind(), ok, kind)
		}
	}
	for _, a := range attributeList {
		if !inSchema[a.name] {
			t.Errorf("%s is not in the schema", a.name)
		}
	}
}

// fullResource has every field set.
func fullResource() *Resource {
	r := &Resource{Endpoints: []Endpoint{{URL: "u", Interface: "i", Health: "ok", Serving: Production, Quality: "q"}},
		Access: []string{"VO:x"}, RuntimeEnvironments: []string{"t"}, CloseSEs: []StorageBinding{{SE: "se"}}, CEID: "h:1/q",
		Serving: Production, FreeFor: []SlotsFor{{Slots: 1}}, Benchmarks: map[string]float64{"specint2000": 1, "specfp2000": 1},
		Created: captured, Validity: time.Hour}
	v := reflect.ValueOf(r).Elem()
	for i := range v.NumField() {
		if !v.Field(i).CanSet() {
			continue
		}
		switch f := v.Field(i).Addr().Interface().(type) {
		case *Opt[int64]:
			*f = Some[int64](1)
		case *Opt[time.Duration]:
			*f = Some(time.Hour)
		case *Opt[bool]:
			*f = Some(true)
		case *string:
			if *f == "" {
				*f = "x"
			}
		}
	}
	return r
}

// The idiom of gLite's manual for storage near a resource.
func TestCloseStorage(t *testing.T) {
	expr, err := classad.ParseExpr("test", []byte(`anyMatch(other.storage.CloseSEs, target.GlueSEStatus == "Production" && target.GlueSESizeFree > 10000)`))
	if err != nil {
		t.Fatal(err)
	}
	yes, no := 0, 0
	for _, r := range decode(t, glue1) {
		switch v := classad.NewAd().Eval(expr, r); {
		case v.IsTrue() && len(r.CloseSEs) > 0:
			yes++
		case v.IsError():
			t.Errorf("%s: ERROR", r.ID)
		default:
			no++
		}
	}
	if yes == 0 || no == 0 {
		t.Errorf("%d near storage, %d not", yes, no)
	}
}
