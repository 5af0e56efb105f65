package glue

import (
	"strconv"
	"strings"
	"time"
)

// filler copies what dst does not publish from src; where both do and differ,
// it notes a Conflict if report is set.
type filler struct {
	*united
	dst, src *Resource
	by       string
	report   bool
}

// identity prefers a published GlueCEUniqueID to one that was made up. A share
// with views and without rules of its own is open to whomever the CE lets in
// (so ARC in GLUE 2.0); the rules of another schema, made for the views, must
// not narrow it.
func (f *filler) identity() {
	if f.src.Schema == "glue1.3" && f.dst.Schema != "glue1.3" && f.src.CEID != "" && (f.dst.CE == "" || ofOneDomain(hostIn(f.src.CEID), f.dst.CE)) {
		f.dst.CEID, f.dst.ID = f.src.CEID, f.src.ID
	}
	f.text("Site", &f.dst.Site, f.src.Site)
	f.text("", &f.dst.Cluster, f.src.Cluster)
	if f.dst.Access == nil && f.dst.Views == nil {
		f.dst.Access = f.src.Access
	}
}

func (f *filler) state() {
	d, s := f.dst, f.src
	if d.Serving == Unknown {
		d.Serving = s.Serving
	} else if s.Serving != Unknown && s.Serving != d.Serving {
		f.conflict("Serving", string(d.Serving), string(s.Serving))
	}
	if s.StateIsPlaceholder {
		return
	}
	d.StateIsPlaceholder = false
	f.int("Running", &d.Running, s.Running)
	f.int("Waiting", &d.Waiting, s.Waiting)
	f.int("Total", &d.Total, s.Total)
	f.int("PreLRMSWaiting", &d.PreLRMSWaiting, s.PreLRMSWaiting)
	f.int("Staging", &d.Staging, s.Staging)
	f.int("LocalRunning", &d.LocalRunning, s.LocalRunning)
	f.int("LocalWaiting", &d.LocalWaiting, s.LocalWaiting)
	f.int("FreeSlots", &d.FreeSlots, s.FreeSlots)
	f.int("UsedSlots", &d.UsedSlots, s.UsedSlots)
	f.span("EstimatedWait", &d.EstimatedWait, s.EstimatedWait)
	f.span("WorstWait", &d.WorstWait, s.WorstWait)
	d.EstimatedWaitIsPlaceholder = d.EstimatedWaitIsPlaceholder && !d.EstimatedWait.OK
	if d.FreeFor == nil {
		d.FreeFor = s.FreeFor
	}
}

func (f *filler) static() {
	f.policy()
	f.environment()
	d, s := f.dst, f.src
	f.text("LRMS", &d.LRMS, s.LRMS)
	f.text("", &d.LRMSVersion, s.LRMSVersion)
	f.text("", &d.Implementation, s.Implementation)
	f.text("", &d.ImplVersion, s.ImplVersion)
	f.int("TotalSlots", &d.TotalSlots, s.TotalSlots)
	f.int("AssignedSlots", &d.AssignedSlots, s.AssignedSlots)
	if d.Services == nil {
		d.Services = s.Services
	}
	if d.CloseSEs == nil {
		d.CloseSEs = s.CloseSEs
	}
	d.Attrs = mergedAttrs(d.Attrs, s.Attrs)
	f.endpoints()
}

func (f *filler) policy() {
	d, s := f.dst, f.src
	f.span("MaxWallTime", &d.MaxWallTime, s.MaxWallTime)
	f.span("MinWallTime", &d.MinWallTime, s.MinWallTime)
	f.span("DefaultWallTime", &d.DefaultWallTime, s.DefaultWallTime)
	f.span("MaxCPUTime", &d.MaxCPUTime, s.MaxCPUTime)
	f.span("DefaultCPUTime", &d.DefaultCPUTime, s.DefaultCPUTime)
	f.int("MaxRunning", &d.MaxRunning, s.MaxRunning)
	f.int("MaxWaiting", &d.MaxWaiting, s.MaxWaiting)
	f.int("MaxTotal", &d.MaxTotal, s.MaxTotal)
	f.int("MaxPreLRMSWaiting", &d.MaxPreLRMSWaiting, s.MaxPreLRMSWaiting)
	f.int("MaxUserRunning", &d.MaxUserRunning, s.MaxUserRunning)
	f.int("MaxSlotsPerJob", &d.MaxSlotsPerJob, s.MaxSlotsPerJob)
	f.int("MaxMemory", &d.MaxMemory, s.MaxMemory)
	f.int("MaxVirtualMemory", &d.MaxVirtualMemory, s.MaxVirtualMemory)
	f.int("MaxDisk", &d.MaxDisk, s.MaxDisk)
	f.int("Priority", &d.Priority, s.Priority)
	fillBool(&d.Preemption, s.Preemption)
	d.Unlimited = (d.Unlimited | s.Unlimited) &^ d.limited()
}

func (f *filler) environment() {
	d, s := f.dst, f.src
	f.text("Platform", &d.Platform, s.Platform)
	f.text("", &d.OSFamily, s.OSFamily)
	f.text("OSName", &d.OSName, s.OSName)
	f.text("OSVersion", &d.OSVersion, s.OSVersion)
	f.text("", &d.OSCodename, s.OSCodename)
	f.text("", &d.CPUModel, s.CPUModel)
	f.text("", &d.CPUVendor, s.CPUVendor)
	f.int("CPUClock", &d.CPUClock, s.CPUClock)
	f.int("MainMemory", &d.MainMemory, s.MainMemory)
	f.int("VirtualMemory", &d.VirtualMemory, s.VirtualMemory)
	f.int("PhysicalCPUs", &d.PhysicalCPUs, s.PhysicalCPUs)
	f.int("LogicalCPUs", &d.LogicalCPUs, s.LogicalCPUs)
	f.int("SMPSize", &d.SMPSize, s.SMPSize)
	f.int("GPUs", &d.GPUs, s.GPUs)
	fillBool(&d.ConnectivityIn, s.ConnectivityIn)
	fillBool(&d.ConnectivityOut, s.ConnectivityOut)
	f.benchmarks()
	if len(d.RuntimeEnvironments) == 0 {
		d.RuntimeEnvironments, d.tags = s.RuntimeEnvironments, s.tags
	}
}

// benchmarks adds those that only src has. Maps are shared between resources:
// a changed one is a new one.
func (f *filler) benchmarks() {
	d, s := f.dst, f.src
	if len(d.Benchmarks) == 0 {
		d.Benchmarks = s.Benchmarks
		return
	}
	d.Benchmarks = f.unitedBenchmarks(d.Benchmarks, s.Benchmarks)
}

// endpoints adds those addresses that only src has.
func (f *filler) endpoints() {
	f.dst.Endpoints = f.unitedEndpoints(f.dst.Endpoints, f.src.Endpoints)
}

// text fills a string; field "" is one whose spelling differs between schemas
// without meaning anything.
func (f *filler) text(field string, dst *string, src string) {
	switch {
	case *dst == "":
		*dst = src
	case field != "" && src != "" && !strings.EqualFold(*dst, src):
		f.conflict(field, *dst, src)
	}
}

func (f *filler) int(field string, dst *Opt[int64], src Opt[int64]) {
	switch {
	case !dst.OK:
		*dst = src
	case f.report && src.OK && src.V != dst.V:
		f.conflict(field, strconv.FormatInt(dst.V, 10), strconv.FormatInt(src.V, 10))
	}
}

// span compares in whole minutes: GLUE 1.3 knows no seconds in limits.
func (f *filler) span(field string, dst *Opt[time.Duration], src Opt[time.Duration]) {
	switch {
	case !dst.OK:
		*dst = src
	case f.report && src.OK && src.V/time.Minute != dst.V/time.Minute:
		f.conflict(field, dst.V.String(), src.V.String())
	}
}

func fillBool(dst *Opt[bool], src Opt[bool]) {
	if !dst.OK {
		*dst = src
	}
}

func (f *filler) conflict(field, kept, lost string) {
	if f.report {
		f.dst.Conflicts = append(f.dst.Conflicts, Conflict{Field: field, Kept: kept, Lost: lost, By: f.by})
	}
}
