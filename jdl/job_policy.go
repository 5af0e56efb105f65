package jdl

import (
	"fmt"
	"strings"
	"time"

	"gridbroker/jdl/classad"
)

// policy reads retries, expiry, proxy server and the like.
func policy(r *jobReader) {
	j := r.job
	j.VO = r.str("VirtualOrganisation")
	if j.VO == "" {
		j.VO = r.str("VirtualOrganization")
	}
	priority(r)
	again := gliteRetries
	if r.cfg.stored {
		again = 0
	}
	j.RetryCount = retries(r, "RetryCount", again)
	j.ShallowRetry = retries(r, "ShallowRetryCount", 0)
	j.Perusal = r.boolean("PerusalFileEnable")
	j.PerusalEvery = duration(r, "PerusalTimeInterval")
	j.AutoOutput = r.boolean("AutoOutput")
	retryOnExit(r)
	abortOn(r)
	j.Final = r.boolean("FinalNode")
	j.AfterAny = r.boolean("AfterAny")
	j.SkipAlong = r.boolean("SkipAlong")
	category(r)
	scripts(r)
	j.AllowZipped = r.boolean("AllowZippedISB")
	j.Significant = r.strs("SignificantAttributes")
	j.After = r.strs("DependsOn")
	j.Node = r.str("NodeName")
	expiry(r)
	proxyServer(r)
	userTags(r)
}

// maxRetries is the most that a gLite workload manager, as shipped, grants of
// either kind.
const maxRetries = 10

func retries(r *jobReader, name string, def int) int {
	n := r.integer(name, def)
	if n > maxRetries && !r.cfg.stored {
		r.warn(r.pos(name), "retries", "", "%s %d: no more than %d are made, as by a gLite workload manager", name, n, maxRetries)
	}
	return min(n, maxRetries)
}

// retryOnExit reads true, one exit code or a list of them.
func retryOnExit(r *jobReader) {
	if !r.has("RetryOnExit") {
		return
	}
	if yes, isBool := r.value("RetryOnExit").Bool(); isBool {
		r.job.RetryAnyExit = yes
		return
	}
	r.job.RetryOnExit = exitCodes(r, "RetryOnExit", 1, "no exit code of a job that failed: they are 1 to 255")
	if len(r.job.RetryOnExit) > 0 && r.job.RetryCount == 0 && !r.cfg.stored {
		r.warn(r.pos("RetryOnExit"), "no-effect", "RetryCount = 3;", "RetryOnExit has no effect with RetryCount 0")
	}
}

// abortOn reads one exit code or a list of them.
func abortOn(r *jobReader) {
	if r.has("AbortDAGOn") {
		r.job.AbortOn = exitCodes(r, "AbortDAGOn", 0, "no exit code: they are 0 to 255")
	}
}

// category reads NodeCategory and MaxCategoryRunning, which stand together in the nodes of a DAG or collection.
func category(r *jobReader) {
	for _, names := range [2][2]string{{"NodeCategory", "MaxCategoryRunning"}, {"MaxCategoryRunning", "NodeCategory"}} {
		switch {
		case !r.has(names[0]):
		case !r.cfg.node && !r.cfg.stored:
			r.failAttr(names[0], "category", "", "%s: only nodes have it", names[0])
		case !r.has(names[1]):
			r.failAttr(names[0], "category", `NodeCategory = "merge"; MaxCategoryRunning = 5;`, "%s without %s", names[0], names[1])
		}
	}
	r.job.Category, r.job.MaxInCategory = r.str("NodeCategory"), r.integer("MaxCategoryRunning", 0)
}

// exitCodes are one or a list of them, none below least.
func exitCodes(r *jobReader, name string, least int, wrong string) (out []int) {
	v := r.value(name)
	codes, isList := v.List()
	if !isList {
		codes = []classad.Value{v}
	}
	for _, c := range codes {
		code, ok := c.Int()
		switch {
		case !ok:
			r.wrongType(name, tCodes)
			return nil
		case code < int64(least) || code > 255:
			r.failAttr(name, "range", "", "%s: %d is %s", name, code, wrong)
			return nil
		}
		out = append(out, int(code))
	}
	return out
}

func expiry(r *jobReader) {
	at := r.integer("ExpiryTime", 0)
	if at <= 0 {
		return
	}
	r.job.Expiry = time.Unix(int64(at), 0)
	if !r.cfg.stored && r.job.Expiry.Before(r.cfg.now()) {
		r.warn(r.pos("ExpiryTime"), "expired", "it counts seconds since 1970", "ExpiryTime %d is in the past", at)
	}
}

// proxyServer checks that MyProxyServer names a host, with or without port.
func proxyServer(r *jobReader) {
	host := strings.TrimSpace(r.str("MyProxyServer"))
	if !isHostPort(host) {
		r.failAttr("MyProxyServer", "host-name", "", "MyProxyServer %q is no host name", host)
		return
	}
	r.job.MyProxyServer = host
}

func isHostPort(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		ok := c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || strings.IndexByte(".:-_[]", c) >= 0
		if !ok {
			return false
		}
	}
	return !strings.HasPrefix(s, "-")
}

func userTags(r *jobReader) {
	if !r.has("UserTags") {
		return
	}
	tags, ok := r.value("UserTags").Record()
	if !ok {
		r.wrongType("UserTags", tRecord)
		return
	}
	for _, a := range tags.Attrs() {
		v := tags.EvalAttr(a.Name, nil)
		s, isString := v.Str()
		if !isString {
			s = classad.UnparseValue(v)
		}
		r.job.Tags = append(r.job.Tags, EnvVar{a.Name, s})
	}
}

// MaxPriority bounds Priority.
const MaxPriority = 1e6

// CheckPriority says what is wrong with a priority that somebody chose: it is
// above 0, at most MaxPriority. 0 is none, where none may be given.
func CheckPriority(p float64) error {
	if !(p > 0 && p <= MaxPriority) {
		return fmt.Errorf("priority %v: say a number above 0, up to %.0f", p, MaxPriority)
	}
	return nil
}

// SetPriority is Priority from outside of the description.
func (j *Job) SetPriority(p float64) {
	j.Priority = p
	j.Ad.Set("Priority", classad.NewLiteral(classad.RealValue(p)))
}

// priority reads Priority and keeps it as a number.
func priority(r *jobReader) {
	p, ok := r.number("Priority")
	if !ok {
		return
	}
	if p != 0 && CheckPriority(p) != nil {
		r.failAttr("Priority", "range", "", "Priority %v: say 0 to %.0f", p, MaxPriority)
		return
	}
	r.job.Priority = p
	r.ad.Set("Priority", classad.NewLiteral(classad.RealValue(p)))
}
