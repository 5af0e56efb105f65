# left.sh - sourced: what scripts that were interrupted left running.

# left ends the processes of these names that are the caller's (ours PID says so): who was interrupted
# between the start of a server and its pid file, or while it removed those, left servers that no file tells of.
left() { # NAME...
  local p name mine=
  for p in /proc/[0-9]*; do
    p=${p#/proc/}
    { read -r name <"/proc/$p/comm"; } 2>/dev/null || continue
    case " $* " in *" $name "*) ours "$p" 2>/dev/null || continue ;; *) continue ;; esac
    kill "$p" 2>/dev/null && mine="$mine $p"
    kill -CONT "$p" 2>/dev/null
  done
  for p in $mine; do
    for _ in $(seq 100); do [ -d "/proc/$p" ] || break; sleep .1; done
    ! ours "$p" 2>/dev/null || kill -9 "$p" 2>/dev/null
    echo "ended $p, which was left"
  done
}
