-- The formulas are those of services/limits/ledger/bucket.go; services/limits/ledger/ledgertest holds both to the
-- same. All keys are of one client, so that they are on one node of a cluster.
--
-- buckets  hash: limit -> "full shift born"
-- open     sorted set: "id|tokens|model" of each request that runs -> when it was reserved
-- running  hash: model, or "" -> the number of its requests that run
-- books    hash: "sum|model" -> tokens, or requests
-- record   string: a reservation, packed; or "settled"
--
-- All of them end some time after the last is heard of a client: names of clients may be anybody's.
local buckets, open, running, books, record = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]

-- Times are microseconds since 2026: a float has fractions of them.
local now = tonumber(ARGV[1])
if not now then
  local time = redis.call('TIME')
  now = (tonumber(time[1]) - 1767225600) * 1e6 + tonumber(time[2])
end
local slot, openLifetime, settledLifetime, booksLifetime = tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5]
local id, model, tokens = ARGV[6], ARGV[7], tonumber(ARGV[8])
local slack = 1

-- The limits of the request: four arguments each.
local limits = {}
for i = 9, #ARGV, 4 do
  local limit = { model = ARGV[i], resource = ARGV[i + 1], max = tonumber(ARGV[i + 2]), window = tonumber(ARGV[i + 3]) }
  limit.name = limit.resource .. '|' .. ARGV[i + 3] .. '|' .. limit.model
  limits[#limits + 1] = limit
end

local function cost(limit, n)
  if limit.max <= 0 then
    return 0
  end
  return n * limit.window / limit.max
end

local function load(name)
  local text = redis.call('HGET', buckets, name)
  if not text then
    return { full = now, shift = 0, born = now }
  end
  local full, shift, born = string.match(text, '^(%S+) (%S+) (%S+)$')
  return { full = tonumber(full), shift = tonumber(shift), born = tonumber(born) }
end

local function save(name, b)
  redis.call('HSET', buckets, name, string.format('%.17g %.17g %.17g', b.full, b.shift, b.born))
  local left = math.ceil(math.max(b.full - now, 0) / 1000) + 1000
  if redis.call('PTTL', buckets) < left then
    redis.call('PEXPIRE', buckets, left)
  end
end

-- charge takes n, and returns the charge's end.
local function charge(limit, n)
  local b = load(limit.name)
  if b.full <= now then
    b = { full = now, shift = 0, born = now }
  end
  b.full = b.full + cost(limit, n)
  save(limit.name, b)
  return b.full + b.shift
end

local function refund(limit, n, at, last)
  local b = load(limit.name)
  if at < b.born then
    return
  end
  local back = math.min(cost(limit, n), last - b.shift - now)
  if back > 0 then
    b.full, b.shift = b.full - back, b.shift + back
    save(limit.name, b)
  end
end

local function used(limit, b)
  return math.ceil(math.max(b.full - now, 0) * limit.max / limit.window - 0.01)
end

local function count(sum, of, n)
  if n ~= 0 then
    redis.call('HINCRBY', books, sum .. '|' .. of, string.format('%.0f', n))
    redis.call('PEXPIRE', books, booksLifetime)
  end
end

local function occupy(of, n)
  for _, field in ipairs({ '', of }) do
    if redis.call('HINCRBY', running, field, n) == 0 then
      redis.call('HDEL', running, field)
    end
  end
  redis.call('PEXPIRE', running, booksLifetime)
  redis.call('PEXPIRE', open, booksLifetime)
end

local function runningNow(of)
  return tonumber(redis.call('HGET', running, of) or 0)
end

local function member(of, n)
  return id .. '|' .. string.format('%.0f', n) .. '|' .. of
end

-- expire ends the slots that have lasted too long.
local function expire()
  local late = redis.call('ZRANGEBYSCORE', open, '-inf', string.format('%.17g', now - slot), 'LIMIT', 0, 1000)
  for _, m in ipairs(late) do
    local n, of = string.match(m, '^[^|]*|(%d+)|(.*)$')
    redis.call('ZREM', open, m)
    occupy(of, -1)
    count('open', of, -tonumber(n))
    count('open_requests', of, -1)
    count('lost', of, tonumber(n))
    count('lost_requests', of, 1)
  end
end

-- release ends the slot of a reservation, and gives back what was not used.
local function release(r, use)
  if redis.call('ZREM', open, member(r.model, r.tokens)) == 1 then
    occupy(r.model, -1)
    count('open', r.model, -r.tokens)
    count('open_requests', r.model, -1)
  else
    count('lost', r.model, -r.tokens)
    count('lost_requests', r.model, -1)
  end
  if use < r.tokens then
    for _, e in ipairs(r.ends) do
      refund(e.limit, r.tokens - use, r.at, e.last)
    end
  end
  count('used', r.model, use)
  count('refunded', r.model, math.max(r.tokens - use, 0))
  count('overrun', r.model, math.max(use - r.tokens, 0))
end

-- chargeTokens takes tokens from the limits that count them.
local function chargeTokens(n)
  for _, limit in ipairs(limits) do
    if limit.resource == 'tokens' then
      charge(limit, n)
    end
  end
end

expire()
