package jdl

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// adlIn is an ActivityDescription as it is read: names without namespace.
type adlIn struct {
	Name string `xml:"ActivityIdentification>Name"`
	App  struct {
		Executable  adlProgram    `xml:"Executable"`
		Input       string        `xml:"Input"`
		Output      string        `xml:"Output"`
		Error       string        `xml:"Error"`
		Environment []adlVariable `xml:"Environment"`
		Pre         []adlProgram  `xml:"PreExecutable"`
		Post        []adlProgram  `xml:"PostExecutable"`
		Rerun       int           `xml:"Rerun"`
		Other       []xmlName     `xml:",any"`
	} `xml:"Application"`
	Resources struct {
		RTE []struct {
			Name    string `xml:"Name"`
			Version string `xml:"Version"`
		} `xml:"RuntimeEnvironment"`
		Memory   int64     `xml:"IndividualPhysicalMemory"`
		Virtual  int64     `xml:"IndividualVirtualMemory"`
		Disk     int64     `xml:"DiskSpaceRequirement"`
		Slots    adlSlots  `xml:"SlotRequirement"`
		Queue    string    `xml:"QueueName"`
		CPUTime  int64     `xml:"IndividualCPUTime"`
		TotalCPU int64     `xml:"TotalCPUTime"`
		Wall     int64     `xml:"WallTime"`
		Platform string    `xml:"Platform"`
		Access   string    `xml:"NodeAccess"`
		Other    []xmlName `xml:",any"`
	} `xml:"Resources"`
	Staging struct {
		Push    bool          `xml:"ClientDataPush"`
		Inputs  []adlInputIn  `xml:"InputFile"`
		Outputs []adlOutputIn `xml:"OutputFile"`
		Other   []xmlName     `xml:",any"`
	} `xml:"DataStaging"`
}

type adlInputIn struct {
	Name       string   `xml:"Name"`
	Sources    []adlURI `xml:"Source"`
	Executable bool     `xml:"IsExecutable"`
}

type adlOutputIn struct {
	Name    string   `xml:"Name"`
	Targets []adlURI `xml:"Target"`
}

type xmlName struct{ XMLName xml.Name }

// readADL reads one ActivityDescription or a list of them. What no job of
// ours can say is a warning.
func readADL(file string, src []byte, cfg config) ([]*Ad, error) {
	dec := xml.NewDecoder(bytes.NewReader(src))
	fail := func(format string, args ...any) error {
		line, col := dec.InputPos()
		d := &Diagnostic{Severity: Fatal, File: file, Pos: Pos{line, col}, Code: "adl", Msg: fmt.Sprintf(format, args...)}
		d.Line, d.caret = sourceLine(string(src), d.Pos)
		return d
	}
	var ads []*Ad
	for {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fail("%v", xmlReason(err))
		}
		start, ok := tok.(xml.StartElement)
		if !ok || start.Name.Local == "ActivityDescriptions" {
			continue
		}
		if start.Name.Local != "ActivityDescription" {
			return nil, fail("<%s> is not an ActivityDescription", start.Name.Local)
		}
		line, col := dec.InputPos()
		var doc adlIn
		if err := dec.DecodeElement(&doc, &start); err != nil {
			return nil, fail("%v", xmlReason(err))
		}
		ads = append(ads, doc.ad(file, Pos{line, col}, cfg.warn))
		if len(ads) > cfg.job.maxJobs {
			return nil, fail("more than %d jobs", cfg.job.maxJobs)
		}
	}
	if len(ads) == 0 {
		return nil, fail("no ActivityDescription in the text")
	}
	return ads, nil
}

// xmlReason drops the package's prefix and line, which are said elsewhere.
func xmlReason(err error) string {
	if se, ok := errors.AsType[*xml.SyntaxError](err); ok {
		return se.Msg
	}
	return strings.TrimPrefix(err.Error(), "xml: ")
}

// ad writes the description as a record of ours.
func (a *adlIn) ad(file string, pos Pos, warn func(*Diagnostic)) *Ad {
	b := adBuilder{ad: &Ad{at: at{pos: pos}}, pos: pos}
	b.str("JobName", a.Name)
	env := make([]EnvVar, len(a.App.Environment))
	for i, v := range a.App.Environment {
		env[i] = EnvVar(v)
	}
	args, env := fromArex(a.App.Executable.Args, env)
	program := b.program(strings.TrimSpace(a.App.Executable.Path), args)
	b.str("StdInput", a.App.Input)
	b.str("StdOutput", a.App.Output)
	b.str("StdError", a.App.Error)
	for _, v := range env {
		b.add("Environment", v.Name+"="+v.Value)
	}
	b.hook("Prologue", a.App.Pre)
	b.hook("Epilogue", a.App.Post)
	b.number("RetryCount", int64(a.App.Rerun))
	a.resources(&b)
	a.staging(&b, program)
	for _, list := range [][]xmlName{a.App.Other, a.Resources.Other, a.Staging.Other} {
		for _, n := range list {
			if !adlSilent[n.XMLName.Local] {
				warn(&Diagnostic{File: file, Pos: pos, Code: "not-used", Msg: "<" + n.XMLName.Local + "> is not used"})
			}
		}
	}
	if a.Staging.Push {
		warn(&Diagnostic{File: file, Pos: pos, Code: "not-used", Msg: "<ClientDataPush> is not used: over REST such a job would wait for ever"})
	}
	return b.ad
}

// adlSilent are elements that only concern the client that wrote them.
var adlSilent = map[string]bool{"DelegationID": true, "LoggingDirectory": true, "Type": true}

func (a *adlIn) resources(b *adBuilder) {
	res := a.Resources
	for _, rte := range res.RTE {
		tag := strings.TrimSpace(rte.Name)
		if v := strings.TrimSpace(rte.Version); v != "" {
			tag += "-" + v
		}
		b.add("RunTimeEnvironment", tag)
	}
	b.number("Memory", res.Memory>>20)
	b.number("VirtualMemory", res.Virtual>>20)
	b.number("Disk", res.Disk>>10)
	if res.Slots.Number > 1 {
		b.number("CPUNumber", int64(res.Slots.Number))
	}
	b.number("SMPGranularity", int64(res.Slots.PerHost))
	if res.Slots.Exclusive {
		b.ad.Set("WholeNodes", NewLiteral(BoolValue(true)))
	}
	b.str("Queue", strings.TrimSpace(res.Queue))
	cpu := res.CPUTime
	if cpu == 0 {
		cpu = res.TotalCPU / int64(max(1, res.Slots.Number))
	}
	b.number("CPUTime", cpu)
	b.number("WallTime", res.Wall)
	if p := strings.TrimSpace(res.Platform); p != "" {
		b.require("other.GlueHostArchitecturePlatformType == " + quoteString(p))
	}
	b.access(strings.TrimSpace(res.Access))
}

func (a *adlIn) staging(b *adBuilder, program string) {
	for _, f := range a.Staging.Inputs {
		src := strings.TrimSpace(f.Name)
		if len(f.Sources) > 0 {
			src = strings.TrimSpace(f.Sources[0].URI)
		}
		b.input(src, strings.TrimSpace(f.Name), f.Executable)
	}
	for _, f := range a.Staging.Outputs {
		url := ""
		if len(f.Targets) > 0 {
			url = strings.TrimSpace(f.Targets[0].URI)
		}
		b.output(strings.TrimSpace(f.Name), url)
	}
	b.finish(program)
}

// ceilMinutes is a time in whole minutes, rounded up.
func ceilMinutes(d time.Duration) int64 { return int64((d + time.Minute - 1) / time.Minute) }
