# It runs the hook that was here before, then asks leasehold. Edits are lost: put your
# own commands into {{name}}{{suffix}}, or uninstall the guard first.
kept="$0{{suffix}}"
{{read}}if [ -x "$kept" ] && [ -z "${LEASEHOLD_GUARD_ONLY:-}" ]; then
	{{feed}}{{kept}} || exit
fi
program=$(command -v leasehold) || program={{program}}
if [ ! -x "$program" ]; then
	echo "leasehold guard: the program leasehold is not there, so nobody was asked who holds these files" >&2
	{{missing}}
fi
{{feed}}"$program" hook git{{flags}} -- {{name}} "$@"
