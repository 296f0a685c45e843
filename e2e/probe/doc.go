// Command probe is a proxy-wasm filter that does what each request tells it and logs what the host answers: the
// instrument by which the rules of a host are found out.
//
// It knows the ABI, by its own imports and exports so that nothing stands between, and no rule of any host.
//
// # Script
//
// A request carries its script in the header x-probe and a name for the log in x-probe-id. The plugin's configuration
// is a script too, for the callbacks that belong to no request.
//
//	reqh: pause; reqb2: set reqh x-a 1, continue; reqend: write req 0 0 "before "
//
// Steps are separated by semicolons, commands by commas, arguments by spaces. An argument may be quoted as in Go;
// TEXT*N is TEXT repeated N times. A step runs in every callback that its name fits, in the order of the script:
//
//	reqh reqb reqt resph respb respt    the six callbacks of a stream; reqb2 is the second time only
//	reqend respend                      the callback with end_of_stream
//	tick callout                        see the commands wake and callout; they are counted too
//	done log delete                     the end of a stream
//	vmstart configure tick queue        of the plugin, in its configuration
//
// # Commands
//
// MAP is reqh, reqt, resph, respt, callh or callt. BODY is req, resp, call, vm or plugin.
//
//	pause | continue | return N         what the callback returns; otherwise continue, and true where it is a bool
//	get MAP NAME | headers MAP | size MAP
//	set|add MAP NAME VALUE | remove MAP NAME
//	set-all MAP NAME=VALUE… | set-many|add-many MAP N
//	read BODY [START SIZE]              otherwise the callback's size from 0
//	write BODY START SIZE TEXT          puts TEXT in the place of SIZE bytes
//	append|replace BODY TEXT            as the SDK spells them
//	reply STATUS BODY [NAME=VALUE…] | resume req|resp | close N
//	prop PATH | propn PATH | set-prop PATH VALUE
//	                                    PATH has dots or | between its parts; propn reads a number
//	metric counter|gauge|histogram NAME | inc NAME N | record NAME N | value NAME
//	sget KEY | sset KEY VALUE CAS       CAS "got" is what the last sget gave
//	qnew NAME | qfind VM NAME | qput ID TEXT | qget ID
//	callout CLUSTER MS PATH [BODY] | callout-raw CLUSTER MS NAME=VALUE… | status
//	foreign NAME [ARGUMENT]
//	tick-period MS | wake               wake: the next tick of the plugin runs this stream's step tick
//	context | effective ID              ID is a number, root, a request's name, or gone: the last deleted stream
//	count | panic | panic-at N          count is the VM's; panic-at panics when it has reached N
//	say TEXT
//
// # Log
//
// Every callback of a stream and every command gives a line at the level warn:
//
//	probe: ID reqb2(11,true)
//	probe: ID reqb2 set reqh x-a 1 = 2
//
// The number behind = is the host's status, 0 being ok; what the host gave stands behind it. What is said of no stream
// has the ID "plugin".
package main
