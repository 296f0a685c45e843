// Command probe is a proxy-wasm filter that carries out the script in each request and logs what the host returns. The
// rules of a host are observed with it.
//
// It knows the ABI through its own imports and exports, without an SDK that could change what it sees. It knows no rule
// of any host.
//
// # Script
//
// A request carries its script in the header x-probe and a name for the log in x-probe-id. The plugin's configuration
// is a script too, for the callbacks that do not belong to a request.
//
//	reqh: pause; reqb2: set reqh x-a 1, continue; reqend: write req 0 0 "before "
//
// Steps are separated by semicolons, commands by commas, arguments by spaces. An argument may be quoted as in Go;
// TEXT*N is TEXT repeated N times. A step runs in every callback that its name matches, in the order of the script:
//
//	reqh reqb reqt resph respb respt    the six callbacks of a stream; reqb2 is the second call only
//	reqend respend                      the callback with end_of_stream
//	tick callout                        see the commands wake and callout; they are counted too
//	done log delete                     the end of a stream; the probe logs "deleted" behind the last one's steps
//	vmstart configure tick queue        callbacks of the plugin, in its configuration
//
// # Commands
//
// MAP is reqh, reqt, resph, respt, callh or callt. BODY is req, resp, call, vm or plugin.
//
//	pause | continue | return N         the callback's result; the default is continue, or true for a bool
//	get MAP NAME | headers MAP | size MAP
//	set|add MAP NAME VALUE | remove MAP NAME
//	set-all MAP NAME=VALUE… | set-many|add-many MAP N
//	read BODY [START SIZE]              the default is the callback's size, from 0
//	write BODY START SIZE TEXT          replaces SIZE bytes with TEXT
//	append|replace BODY TEXT            the same calls as in the SDK
//	reply STATUS BODY [NAME=VALUE…] | resume req|resp | close N
//	prop PATH | propn PATH | set-prop PATH VALUE
//	                                    dots or | separate the parts of PATH; propn reads a number
//	metric counter|gauge|histogram NAME | inc NAME N | record NAME N | value NAME
//	sget KEY | sset KEY VALUE CAS       CAS "got" is the number from the last sget
//	qnew NAME | qfind VM NAME | qput ID TEXT | qget ID
//	callout CLUSTER MS PATH [BODY] | callout-raw CLUSTER MS NAME=VALUE… | status
//	foreign NAME [ARGUMENT]
//	tick-period MS | wake               wake: the plugin's next tick runs this stream's step tick
//	context | effective ID              ID is a number, root, a request's name, or gone: the last deleted stream
//	count | panic | panic-at N          count is the VM's; panic-at panics when it has reached N
//	say TEXT
//
// # Log
//
// Every callback of a stream and every command logs a line at the level warn:
//
//	probe: ID reqb2(11,true)
//	probe: ID reqb2 set reqh x-a 1 = 2
//
// The number after = is the host's status, where 0 is ok; what the host has returned follows it. Lines that belong to
// no stream have the ID "plugin".
package main
