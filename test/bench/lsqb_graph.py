"""A social network in the shape of the Labelled Subgraph Query Benchmark's (LSQB; Mhedhbi, Lissandrini, Kuiper, Waudby,
Szárnyas 2021). How many rows a table has, and how skewed they are, follows its scale factors 0.1 to 1.

`social_network` returns the columns of each table of `TABLES`, in its order; -1 stands for NULL.
"""

import numpy as np

COUNTRIES, CITIES, TAGS, TAG_CLASSES = 111, 1343, 16080, 71

# What no query of LSQB reads is left out: continents, companies, universities, tags of forums.
TABLES = {
    "country": ("id",),
    "city": ("id", "country"),
    "tag_class": ("id",),
    "tag": ("id", "class"),
    "person": ("id", "city"),
    "knows": ("person", "friend"),
    "interest": ("person", "tag"),
    "forum": ("id", "moderator"),
    "member": ("forum", "person"),
    "post": ("id", "creator", "forum", "country"),
    "comment": ("id", "creator", "country", "post", "parent"),
    "post_tag": ("post", "tag"),
    "comment_tag": ("comment", "tag"),
    "likes_post": ("person", "post"),
    "likes_comment": ("person", "comment"),
}


def messages_of(persons):
    """Returns how many posts and comments there are: the more persons, the more each of them writes."""
    return int(200_000 * (persons / 1700) ** 1.4)


def skewed(rng, n, size, power):
    """Draws numbers below n: the part u^power of the way there, for u uniform."""
    return (n * rng.random(size) ** power).astype(np.int64)


def popular(rng, n, size, power):
    """Draws numbers below n, skewed, those drawn most anywhere among them."""
    return rng.permutation(n)[skewed(rng, n, size, power)]


def sparse_ids(rng, n):
    """Draws increasing identifiers with gaps."""
    return np.cumsum(rng.integers(1, 2000, n))


def distinct(one, other):
    """Returns the distinct pairs of two columns."""
    width = other.max() + 1
    both = np.unique(one * width + other)
    return both // width, both % width


class People:
    """Persons live in cities, have a main interest, and know those who are near them in either."""

    def __init__(self, rng, persons):
        self.count = persons
        self.city = skewed(rng, CITIES, persons, 2)
        self.country_of_city = skewed(rng, COUNTRIES, CITIES, 2)
        self.main_interest = popular(rng, TAGS, persons, 3)
        degree = 18 * (persons / 1500) ** 0.4
        weight = rng.lognormal(0, 1.6, persons)
        # A person has as many places in each circle as half of the friends.
        self.places = rng.poisson(np.minimum(weight * degree / weight.mean() / 2, persons / 8)) + 1
        noise = rng.random(persons)
        home = np.lexsort((noise, self.city, self.country_of_city[self.city]))
        self.circle = np.repeat(home, self.places[home])
        self.first_place = np.empty(persons, np.int64)
        self.first_place[home] = np.cumsum(self.places[home]) - self.places[home]
        interest = np.lexsort((noise, self.main_interest))
        ends = [self.edges(rng, circle, degree) for circle in (self.circle, np.repeat(interest, self.places[interest]))]
        one, other = (np.concatenate(side) for side in zip(*ends))
        self.person, self.friend = distinct(np.concatenate([one, other]), np.concatenate([other, one]))
        self.first_friend = np.searchsorted(self.person, np.arange(persons + 1))

    @staticmethod
    def edges(rng, circle, degree):
        """Joins most of the places to one nearby, and a fifth of these to any."""
        places = np.flatnonzero(rng.random(len(circle)) < 0.6)
        near = places + rng.geometric(1 / (20 * degree), len(places))
        far = rng.integers(0, len(circle), len(places))
        one, other = circle[places], circle[np.where(rng.random(len(places)) < 0.2, far, near % len(circle))]
        return one[one != other], other[one != other]

    def friends_of(self, rng, persons):
        """Draws a friend of each person; who has none stays alone."""
        degree = self.first_friend[persons + 1] - self.first_friend[persons]
        place = self.first_friend[persons] + (rng.random(len(persons)) * degree).astype(np.int64)
        return np.where(degree > 0, self.friend[np.minimum(place, len(self.friend) - 1)], persons)

    def neighbours_of(self, rng, persons, width):
        """Draws somebody from up to `width` places around each person's."""
        place = self.first_place[persons] + (width * rng.uniform(-1, 1, len(persons))).astype(np.int64)
        return self.circle[place % len(self.circle)]


class Messages:
    """Posts in forums and trees of comments on them. Both are numbered alike: posts come first."""

    def __init__(self, rng, people, forum, member):
        total = messages_of(people.count)
        self.posts, self.comments = total // 3, total - total // 3
        place = rng.integers(0, len(forum), self.posts)
        self.forum = forum[place]
        self.parent = np.full(total, -1)
        self.creator = np.concatenate([member[place], np.full(self.comments, -1)])
        self.thread = np.concatenate([np.arange(self.posts), np.full(self.comments, -1)])
        self.popularity = rng.permutation(self.posts)
        self.reply(rng, people)
        self.id = sparse_ids(rng, total)[rng.permutation(total)]

    def reply(self, rng, people):
        """Lets comments reply to posts, half of them, or to earlier comments; most are by friends of the author."""
        number = np.arange(self.comments)
        to_post = (rng.random(self.comments) < 0.5) | (number == 0)
        post = self.popularity[skewed(rng, self.posts, self.comments, 3)]
        earlier = self.posts + (number * rng.random(self.comments)).astype(np.int64)
        self.parent[self.posts:] = np.where(to_post, post, earlier)
        open_ones = self.posts + number
        while len(open_ones):
            ready = self.creator[self.parent[open_ones]] >= 0
            ones, open_ones = open_ones[ready], open_ones[~ready]
            author = self.creator[self.parent[ones]]
            self.creator[ones] = np.where(rng.random(len(ones)) < 0.85, people.friends_of(rng, author),
                                          people.neighbours_of(rng, author, 500))
            self.thread[ones] = self.thread[self.parent[ones]]

    def tags(self, rng, people):
        """Draws tags, many in few threads; most of them are near the main interest of who began the thread."""
        talkative = rng.gamma(0.12, 1, self.posts)
        talkative /= talkative.mean()
        mean = np.where(np.arange(len(self.parent)) < self.posts, 0.7, 1.5)
        message = np.repeat(np.arange(len(self.parent)), rng.poisson(mean * talkative[self.thread]))
        topic = people.main_interest[self.creator[self.thread[message]]] + rng.geometric(0.5, len(message))
        other = popular(rng, TAGS, len(message), 3)
        return distinct(message, np.where(rng.random(len(message)) < 0.7, topic % TAGS, other))

    def likes(self, rng, people):
        """Draws who likes what, friends of the author for the most part; what is answered is liked more."""
        size = int(0.8 * len(self.parent))
        answered = self.parent[rng.integers(self.posts, len(self.parent), size)]
        message = np.where(rng.random(size) < 0.5, answered, popular(rng, len(self.parent), size, 2))
        author = self.creator[message]
        person = np.where(rng.random(size) < 0.85, people.friends_of(rng, author), people.neighbours_of(rng, author, 500))
        return distinct(person, message)


def memberships(rng, people):
    """Draws forums: the wall of each person with the friends, and eight groups of neighbours, some of them large."""
    persons = people.count
    moderator = np.concatenate([np.arange(persons), people.circle[rng.integers(0, len(people.circle), 8 * persons)]])
    size = np.minimum(rng.lognormal(1.9, 1.5, 8 * persons).astype(np.int64) + 1, persons // 2)
    groups = np.repeat(np.arange(persons, 9 * persons), size)
    joining = people.neighbours_of(rng, moderator[groups], 40 * np.repeat(size, size))
    forum, member = distinct(np.concatenate([people.person, groups]), np.concatenate([people.friend, joining]))
    return moderator, forum, member


def social_network(persons, seed):
    """Returns the columns of each table."""
    rng = np.random.default_rng(seed)
    people = People(rng, persons)
    moderator, forum, member = memberships(rng, people)
    messages = Messages(rng, people, forum, member)
    tagged, tag = messages.tags(rng, people)
    liker, liked = messages.likes(rng, people)
    interested = np.repeat(np.arange(persons), rng.poisson(22, persons))
    interests = np.where(rng.random(len(interested)) < 0.3, people.main_interest[interested] + rng.geometric(0.1, len(interested)),
                         popular(rng, TAGS, len(interested), 3)) % TAGS
    person_id, forum_id = sparse_ids(rng, persons), sparse_ids(rng, len(moderator))
    posts, parent = messages.posts, messages.parent[messages.posts:]
    country = people.country_of_city[people.city[messages.creator]]
    interested, interests = distinct(interested, interests)
    of_post, likes_post = tagged < posts, liked < posts
    return {
        "country": (np.arange(COUNTRIES),),
        "city": (np.arange(CITIES), people.country_of_city),
        "tag_class": (np.arange(TAG_CLASSES),),
        "tag": (np.arange(TAGS), skewed(rng, TAG_CLASSES, TAGS, 2)),
        "person": (person_id, people.city),
        "knows": (person_id[people.person], person_id[people.friend]),
        "interest": (person_id[interested], interests),
        "forum": (forum_id, person_id[moderator]),
        "member": (forum_id[forum], person_id[member]),
        "post": (messages.id[:posts], person_id[messages.creator[:posts]], forum_id[messages.forum], country[:posts]),
        "comment": (messages.id[posts:], person_id[messages.creator[posts:]], country[posts:],
                    np.where(parent < posts, messages.id[parent], -1), np.where(parent < posts, -1, messages.id[parent])),
        "post_tag": (messages.id[tagged[of_post]], tag[of_post]),
        "comment_tag": (messages.id[tagged[~of_post]], tag[~of_post]),
        "likes_post": (person_id[liker[likes_post]], messages.id[liked[likes_post]]),
        "likes_comment": (person_id[liker[~likes_post]], messages.id[liked[~likes_post]]),
    }
